package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func cmdWriter(args []string) {
	fs := flag.NewFlagSet("writer", flag.ExitOnError)
	n := fs.Int("n", 2000, "")
	rate := fs.Float64("rate", 100, "patches per second")
	secs := fs.Float64("seconds", 10, "")
	conc := fs.Int("conc", 32, "most patches in flight")
	outf := fs.String("out", "written.csv", "")
	must(fs.Parse(args))
	rc := newRaw()
	patch := func(i int) (string, int64, int64) {
		name := widgetName(i % *n)
		s := time.Now().UnixNano()
		body := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, tsAnn, s)
		must(rc.do("PATCH", "/apis/bench.example.com/v1/namespaces/"+ns+"/widgets/"+name, "application/merge-patch+json", []byte(body), nil))
		return name, s, time.Now().UnixNano()
	}
	for i := 0; i < 20; i++ { // connection warm-up; recorded by the reader, dropped by the join
		patch(i)
	}
	time.Sleep(500 * time.Millisecond)
	total := int(*rate * *secs)
	type row struct {
		name string
		s, r int64
	}
	rows := make([]row, total)
	work := make(chan int, total)
	var wg sync.WaitGroup
	for k := 0; k < *conc; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range work {
				name, s, r := patch(i)
				rows[i] = row{name, s, r}
			}
		}()
	}
	t0 := time.Now()
	cpu0 := cpuSeconds()
	for i := 0; i < total; i++ {
		due := t0.Add(time.Duration(float64(i) / *rate * 1e9))
		if d := time.Until(due); d > 0 {
			time.Sleep(d)
		}
		work <- i
	}
	close(work)
	wg.Wait()
	wall := time.Since(t0).Seconds()
	f := must1(os.Create(*outf))
	w := csv.NewWriter(f)
	for _, r := range rows {
		must(w.Write([]string{r.name, strconv.FormatInt(r.s, 10), strconv.FormatInt(r.r, 10)}))
	}
	w.Flush()
	must(f.Close())
	emit(map[string]any{"cmd": "writer", "rate": *rate, "achieved": float64(total) / wall, "total": total, "cpu_s": cpuSeconds() - cpu0})
}

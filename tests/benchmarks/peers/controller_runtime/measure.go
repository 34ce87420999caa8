package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
func must1[T any](v T, err error) T { must(err); return v }

func cpuSeconds() float64 {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	f := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return f(u.Utime) + f(u.Stime)
}
func procStatus(field string) int64 { // bytes
	b, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, field+":") {
			f := strings.Fields(l)
			v, _ := strconv.ParseInt(f[1], 10, 64)
			return v * 1024
		}
	}
	return 0
}
func gcNow() runtime.MemStats {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m
}
func emit(m map[string]any) {
	m["impl"] = "controller-runtime"
	b, _ := json.Marshal(m)
	fmt.Println(string(b))
}

type tickerStats struct {
	stop chan struct{}
	done chan map[string]any
}

// startTicker records the gaps between receptions of a 1 ms ticker.
func startTicker() *tickerStats {
	t := &tickerStats{make(chan struct{}), make(chan map[string]any)}
	go func() {
		tk := time.NewTicker(time.Millisecond)
		var gaps []float64
		last := time.Now()
		for {
			select {
			case <-t.stop:
				sort.Float64s(gaps)
				q := func(p float64) float64 {
					if len(gaps) == 0 {
						return 0
					}
					return gaps[min(len(gaps)-1, int(p*float64(len(gaps))))]
				}
				n10, n50 := 0, 0
				for _, g := range gaps {
					if g > 10 {
						n10++
					}
					if g > 50 {
						n50++
					}
				}
				t.done <- map[string]any{"max_ms": q(1), "p99_ms": q(.99), "p999_ms": q(.999), "over_10ms": n10, "over_50ms": n50, "ticks": len(gaps)}
				return
			case <-tk.C:
				now := time.Now()
				gaps = append(gaps, float64(now.Sub(last))/1e6)
				last = now
			}
		}
	}()
	return t
}
func (t *tickerStats) finish() map[string]any { close(t.stop); return <-t.done }

package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
)

// cmdAnalyze joins a writer's file with a reader's file by (name, timestamp).
func cmdAnalyze(args []string) {
	fs := flag.NewFlagSet("analyze", flag.ExitOnError)
	wf := fs.String("written", "written.csv", "")
	sf := fs.String("seen", "seen.csv", "")
	must(fs.Parse(args))
	read := func(p string) [][]string {
		f := must1(os.Open(p))
		defer f.Close()
		return must1(csv.NewReader(f).ReadAll())
	}
	seen := map[string]int64{}
	for _, r := range read(*sf) {
		k := r[0] + " " + r[1]
		e, _ := strconv.ParseInt(r[2], 10, 64)
		if old, ok := seen[k]; !ok || e < old {
			seen[k] = e
		}
	}
	var fromStart, fromReturn, write []float64
	missed := 0
	for _, r := range read(*wf) {
		s, _ := strconv.ParseInt(r[1], 10, 64)
		t, _ := strconv.ParseInt(r[2], 10, 64)
		write = append(write, float64(t-s)/1e6)
		e, ok := seen[r[0]+" "+r[1]]
		if !ok {
			missed++
			continue
		}
		fromStart = append(fromStart, float64(e-s)/1e6)
		fromReturn = append(fromReturn, float64(e-t)/1e6)
	}
	q := func(v []float64) map[string]any {
		sort.Float64s(v)
		at := func(p float64) float64 {
			if len(v) == 0 {
				return 0
			}
			return v[min(len(v)-1, int(p*float64(len(v))))]
		}
		return map[string]any{"min": at(0), "p50": at(.5), "p99": at(.99), "max": at(1)}
	}
	b, _ := json.Marshal(map[string]any{"cmd": "analyze", "joined": len(fromStart), "missed": missed, "write_ms": q(write), "start_to_reconcile_ms": q(fromStart), "return_to_reconcile_ms": q(fromReturn)})
	fmt.Println(string(b))
}

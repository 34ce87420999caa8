// Command peerbench measures controller-runtime on a real kube-apiserver. Every subcommand is one
// measurement in one fresh process and prints one line of JSON. See ../../PROTOCOL.md.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

var mainEntry = time.Now()

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: peerbench seed|fill|ticker|lookup|queue|steady|latency|writer|analyze|status|restart|events [flags]")
		os.Exit(2)
	}
	ctrl.SetLogger(logr.Discard())
	cmds := map[string]func([]string){"seed": cmdSeed, "fill": cmdFill, "ticker": cmdTicker, "lookup": cmdLookup, "queue": cmdQueue,
		"steady": cmdSteady, "latency": cmdLatency, "writer": cmdWriter, "analyze": cmdAnalyze, "status": cmdStatus, "restart": cmdRestart, "events": cmdEvents}
	f, ok := cmds[os.Args[1]]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown command", os.Args[1])
		os.Exit(2)
	}
	f(os.Args[2:])
}

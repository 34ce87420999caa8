package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type raw struct {
	c    *http.Client
	base string
}

func newRaw() *raw {
	cfg := ctrl.GetConfigOrDie()
	return &raw{must1(rest.HTTPClientFor(cfg)), strings.TrimSuffix(cfg.Host, "/")}
}

func (r *raw) do(method, path, ct string, body []byte, into any) error {
	req, err := http.NewRequest(method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", ct)
	req.Header.Set("Accept", "application/json")
	res, err := r.c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, b)
	}
	if into != nil {
		return json.Unmarshal(b, into)
	}
	return nil
}

func (r *raw) setup() {
	must(r.do("POST", "/api/v1/namespaces", "application/json", []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+ns+`"}}`), nil))
	for _, definition := range []string{crd("Widget"), crd("Mote")} {
		must(r.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", []byte(definition), nil))
	}
	time.Sleep(3 * time.Second)
}

// one makes one object: POST, a PATCH that strips managedFields (once stripped, the server does not track them again)
// unless they are to be left in, and a PUT of /status for kinds that have one.
func (r *raw) one(o client.Object, path string, managed bool) {
	var got struct {
		Metadata struct{ ResourceVersion string }
	}
	must(r.do("POST", path, "application/json", must1(json.Marshal(o)), &got))
	if !managed {
		must(r.do("PATCH", path+"/"+o.GetName(), "application/merge-patch+json", []byte(noManagedFields), &got))
	}
	if _, tiny := o.(*Mote); !tiny {
		o.SetResourceVersion(got.Metadata.ResourceVersion)
		must(r.do("PUT", path+"/"+o.GetName()+"/status", "application/json", must1(json.Marshal(o)), nil))
	}
}

// cmdSeed works on the objects from..to-1 of a kind.
func cmdSeed(args []string) {
	fs := flag.NewFlagSet("seed", flag.ExitOnError)
	kind := fs.String("kind", "pod", "setup|pod|widget|mote")
	from := fs.Int("from", 0, "")
	to := fs.Int("to", 10000, "")
	conc := fs.Int("conc", 32, "")
	managed := fs.Bool("managed", false, "leave managedFields in")
	strip := fs.Bool("strip", false, "only strip managedFields from objects that exist")
	must(fs.Parse(args))
	rc := newRaw()
	if *kind == "setup" {
		rc.setup()
		emit(map[string]any{"cmd": "seed", "kind": *kind})
		return
	}
	t0 := time.Now()
	work := make(chan int, 1024)
	var wg sync.WaitGroup
	for k := 0; k < *conc; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range work {
				o, path := seeded(*kind, i)
				if *strip {
					must(rc.do("PATCH", path+"/"+o.GetName(), "application/merge-patch+json", []byte(noManagedFields), nil))
				} else {
					rc.one(o, path, *managed)
				}
			}
		}()
	}
	for i := *from; i < *to; i++ {
		work <- i
	}
	close(work)
	wg.Wait()
	emit(map[string]any{"cmd": "seed", "kind": *kind, "n": *to - *from, "wall_s": time.Since(t0).Seconds()})
}

const noManagedFields = `{"metadata":{"managedFields":[{}]}}`

func seeded(kind string, i int) (client.Object, string) {
	switch kind {
	case "widget":
		return widget(i), "/apis/bench.example.com/v1/namespaces/" + ns + "/widgets"
	case "mote":
		return mote(i), "/apis/bench.example.com/v1/namespaces/" + ns + "/motes"
	}
	return pod(i), "/api/v1/namespaces/" + ns + "/pods"
}

func crd(kind string) string {
	one := strings.ToLower(kind)
	tree := `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + one + `s.bench.example.com"},
"spec":{"group":"bench.example.com","scope":"Namespaced","names":{"plural":"` + one + `s","singular":"` + one + `","kind":"` + kind + `","listKind":"` + kind + `List"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + tree + `,"status":` + tree + `}}}}]}}`
}

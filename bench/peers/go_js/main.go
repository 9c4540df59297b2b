// The Go of bench-js, by the environment: PORT, WORKLOAD, UPSTREAM_PORT, WWW (the folder of 10k.bin).
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	chunks     = 64
	chunkBytes = 16 * 1024
	sleepTime  = 5 * time.Millisecond
	fetches    = 3
)

var fields = []string{"User-Agent", "Accept", "Accept-Language", "Authorization", "X-Request-Id",
	"Cookie", "Cache-Control"}

func text(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write(body)
}

var hello = []byte("Hello, World!")

func plaintext(w http.ResponseWriter, _ *http.Request) { text(w, hello) }

func jsonBody(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var value map[string]any
	if err != nil || json.Unmarshal(body, &value) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	items, _ := value["items"].([]any)
	value["seen"] = len(items)
	answer, err := json.Marshal(value)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

func headers(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) < 5 || parts[1] != "users" || parts[3] != "posts" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	count := len(r.Host)
	for _, name := range fields {
		count += len(r.Header.Get(name))
	}
	query := r.URL.Query()
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s %s %s %d", parts[2], parts[4], query.Get("page"), query.Get("sort"), count)
}

func sleep5(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(sleepTime)
	text(w, []byte("slept"))
}

var chunk = []byte(strings.Repeat("x", chunkBytes))

func stream(w http.ResponseWriter, _ *http.Request) {
	flusher := w.(http.Flusher)
	for i := 0; i < chunks; i++ {
		w.Write(chunk)
		flusher.Flush()
	}
}

type upstream struct {
	address   string
	transport *http.Transport
}

func (u upstream) body(client *http.Client) []byte {
	answer, err := client.Get(u.address + "/1k")
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return body
}

func (u upstream) fanout(w http.ResponseWriter, _ *http.Request) {
	client := &http.Client{Transport: u.transport}
	var bodies [fetches][]byte
	var group sync.WaitGroup
	for i := range bodies {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			bodies[i] = u.body(client)
		}(i)
	}
	group.Wait()
	var whole []byte
	for _, body := range bodies {
		whole = append(whole, body...)
	}
	text(w, whole)
}

func (u upstream) proxy() http.HandlerFunc {
	address, err := url.Parse(u.address)
	if err != nil {
		log.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.Transport = u.transport
	return proxy.ServeHTTP
}

func main() {
	behind := upstream{"http://127.0.0.1:" + os.Getenv("UPSTREAM_PORT"),
		&http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}
	file := os.Getenv("WWW") + "/10k.bin"
	handlers := map[string]http.HandlerFunc{
		"plaintext": plaintext,
		"json":      jsonBody,
		"headers":   headers,
		"sleep5":    sleep5,
		"fanout":    behind.fanout,
		"stream":    stream,
		"file":      func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) },
		"proxy":     behind.proxy(),
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), handlers[os.Getenv("WORKLOAD")]))
}

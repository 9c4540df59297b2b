// The Go peer of the HTTP benchmarks, by the environment: PORT, WWW (the folder of 10k.bin and
// 1m.bin), UPSTREAM_PORT (of /proxy), TLS (the folder of cert.pem and key.pem; empty: plain).
package main

import (
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	eventPeriod  = 100 * time.Millisecond
	eventPadding = 40
)

func plaintext(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write(hello)
}

var hello = []byte("Hello, World!")

// A file from memory: os.ReadFile once, as Go has no cache of open files.
func fromMemory(path string) http.HandlerFunc {
	content, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content)
	}
}

func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := w.(http.Flusher)
	flusher.Flush()
	ticker := time.NewTicker(eventPeriod)
	defer ticker.Stop()
	padding := strings.Repeat("x", eventPadding)
	for number := 0; ; number++ {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			fmt.Fprintf(w, "data: %d %s\n\n", number, padding)
			flusher.Flush()
		}
	}
}

func proxy(port string) http.Handler {
	upstream := &url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
	return proxy
}

func main() {
	www := os.Getenv("WWW")
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", plaintext)
	mux.HandleFunc("/10k.bin", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, www+"/10k.bin")
	})
	mux.HandleFunc("/1m.bin", fromMemory(www+"/1m.bin"))
	mux.HandleFunc("/events", events)
	mux.Handle("/1k", proxy(os.Getenv("UPSTREAM_PORT")))
	server := &http.Server{
		Addr:      "127.0.0.1:" + os.Getenv("PORT"),
		Handler:   mux,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13},
	}
	if folder := os.Getenv("TLS"); folder != "" {
		log.Fatal(server.ListenAndServeTLS(folder+"/cert.pem", folder+"/key.pem"))
	}
	log.Fatal(server.ListenAndServe())
}

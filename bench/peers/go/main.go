// The Go peer: `go_bench <metric> [count]`, or `go_bench echo <port>`. GOMAXPROCS is the number of
// workers. Each workload does the same work as its namesake in bench/weft/.
package main

import (
	"fmt"
	"os"
	"strconv"
)

var workloads = map[string]func(count int){
	"yield":     yield,
	"spawn":     spawn,
	"spawnjoin": spawnJoin,
	"fib":       fibonacci,
	"skynet":    skynet,
	"chan0":     func(count int) { stream("chan0", 0, count) },
	"chan128":   func(count int) { stream("chan128", 128, count) },
	"ping0":     func(count int) { pingPong("ping0", 0, count) },
	"ping128":   func(count int) { pingPong("ping128", 128, count) },
	"mpmc":      manyToMany,
	"mutex":     mutex,
	"sleep":     sleep,
	"timer":     timer,
	"park":      func(count int) { park("park", count) },
	"park20k":   func(count int) { park("park20k", count) },
	"group":     group,
	"task":      task,
	"pool":      pool,
	"timeout":   timeout,
	"context":   deriveAndCancel,
	"contexts":  liveContexts,
	"echo":      echo,
}

func main() {
	if len(os.Args) < 2 || workloads[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: go_bench <metric> [count]")
		os.Exit(2)
	}
	count := 1000000
	if len(os.Args) > 2 {
		count, _ = strconv.Atoi(os.Args[2])
	}
	workloads[os.Args[1]](count)
}

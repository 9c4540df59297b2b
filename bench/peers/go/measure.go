package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func report(metric string, value float64, unit string) {
	fmt.Printf("go%d %s %.3f %s\n", runtime.GOMAXPROCS(0), metric, value, unit)
}

func nanosecondsEach(start time.Time, count int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(count)
}

// cpuNanoseconds is the user and system time of the process so far.
func cpuNanoseconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	seconds := float64(usage.Utime.Sec + usage.Stime.Sec)
	return seconds*1e9 + float64(usage.Utime.Usec+usage.Stime.Usec)*1e3
}

// statusBytes reads one field of /proc/self/status that is given in kB.
func statusBytes(field string) float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, field+":") {
			kilobytes, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return kilobytes * 1024
		}
	}
	return 0
}

// residentBytes counts page tables too: they are what a sparse stack costs beside its pages.
func residentBytes() float64 { return statusBytes("VmRSS") + statusBytes("VmPTE") }

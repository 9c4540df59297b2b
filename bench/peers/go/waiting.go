package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// sleepTimes gives the same durations of 1 to 1000 ms in every program of bench/.
type sleepTimes uint64

func (state *sleepTimes) next() time.Duration {
	*state = *state*6364136223846793005 + 1442695040888963407
	return time.Duration(1+(*state>>33)%1000) * time.Millisecond
}

func sleep(count int) {
	var wait sync.WaitGroup
	wait.Add(count)
	var times sleepTimes
	start := time.Now()
	for i := 0; i < count; i++ {
		duration := times.next()
		go func() {
			time.Sleep(duration)
			wait.Done()
		}()
	}
	wait.Wait()
	report("sleep", float64(time.Since(start).Microseconds())/1000, "ms")
	report("sleep_cpu", cpuNanoseconds()/1e6, "ms")
	report("sleep_rss", statusBytes("VmHWM")/1e6, "MB")
}

func timer(count int) {
	start := time.Now()
	for i := 0; i < count; i++ {
		time.AfterFunc(time.Hour, func() {}).Stop()
	}
	report("timer", nanosecondsEach(start, count), "ns/timer")
}

func park(metric string, count int) {
	never := make(chan int)
	var arrived int64
	before := residentBytes()
	for i := 0; i < count; i++ {
		go func() {
			atomic.AddInt64(&arrived, 1)
			<-never
		}()
	}
	for atomic.LoadInt64(&arrived) < int64(count) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	report(metric, (residentBytes()-before)/float64(count), "B/fiber")
}

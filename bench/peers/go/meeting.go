package main

import (
	"sync"
	"sync/atomic"
	"time"
)

func stream(metric string, capacity, count int) {
	items := make(chan int, capacity)
	sum := make(chan int)
	start := time.Now()
	go func() {
		total := 0
		for i := 0; i < count; i++ {
			total += <-items
		}
		sum <- total
	}()
	go func() {
		for i := 0; i < count; i++ {
			items <- i
		}
	}()
	if total := <-sum; total != count*(count-1)/2 {
		panic(total)
	}
	report(metric, nanosecondsEach(start, count), "ns/item")
}

func pingPong(metric string, capacity, count int) {
	ping, pong := make(chan int, capacity), make(chan int, capacity)
	done := make(chan int)
	start := time.Now()
	go func() {
		for i := 0; i < count; i++ {
			pong <- <-ping
		}
	}()
	go func() {
		for i := 0; i < count; i++ {
			ping <- i
			<-pong
		}
		done <- 1
	}()
	<-done
	report(metric, nanosecondsEach(start, count), "ns/rtt")
}

func manyToMany(count int) {
	const pairs = 4
	items := make(chan int, 128)
	var producers, consumers sync.WaitGroup
	var received int64
	producers.Add(pairs)
	consumers.Add(pairs)
	start := time.Now()
	for p := 0; p < pairs; p++ {
		go func() {
			for i := 0; i < count/pairs; i++ {
				items <- i
			}
			producers.Done()
		}()
		go func() {
			mine := 0
			for range items {
				mine++
			}
			atomic.AddInt64(&received, int64(mine))
			consumers.Done()
		}()
	}
	producers.Wait()
	close(items)
	consumers.Wait()
	if received != int64(count) {
		panic(received)
	}
	report("mpmc", nanosecondsEach(start, count), "ns/item")
}

// mutex runs sets of 100 fibers × 10,000 locks until `count` locks are made.
func mutex(count int) {
	const fibers, locks = 100, 10000
	var lock sync.Mutex
	value := 0
	start := time.Now()
	for set := 0; set < count/(fibers*locks); set++ {
		var wait sync.WaitGroup
		wait.Add(fibers)
		for f := 0; f < fibers; f++ {
			go func() {
				for i := 0; i < locks; i++ {
					lock.Lock()
					value++
					lock.Unlock()
				}
				wait.Done()
			}()
		}
		wait.Wait()
	}
	if value != count {
		panic(value)
	}
	report("mutex", nanosecondsEach(start, count), "ns/lock")
}

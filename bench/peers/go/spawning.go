package main

import (
	"runtime"
	"sync"
	"time"
)

// yield has two fibers for each worker: with fewer, a worker could yield to nobody.
func yield(count int) {
	fibers := 2 * runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	wait.Add(fibers)
	start := time.Now()
	for f := 0; f < fibers; f++ {
		go func() {
			for i := 0; i < count/fibers; i++ {
				runtime.Gosched()
			}
			wait.Done()
		}()
	}
	wait.Wait()
	report("yield", nanosecondsEach(start, count), "ns/switch")
}

func spawn(count int) {
	var wait sync.WaitGroup
	wait.Add(count)
	start := time.Now()
	for i := 0; i < count; i++ {
		go wait.Done()
	}
	wait.Wait()
	report("spawn", nanosecondsEach(start, count), "ns/fiber")
}

func spawnJoin(count int) {
	done := make(chan int)
	start := time.Now()
	for i := 0; i < count; i++ {
		go func() { done <- 1 }()
		<-done
	}
	report("spawnjoin", nanosecondsEach(start, count), "ns/fiber")
}

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func fibonacci(count int) {
	var wait sync.WaitGroup
	wait.Add(count)
	start := time.Now()
	for i := 0; i < count; i++ {
		go func() {
			fib(20)
			for k := 0; k < 10; k++ {
				runtime.Gosched()
			}
			wait.Done()
		}()
	}
	wait.Wait()
	report("fib", nanosecondsEach(start, count), "ns/fiber")
}

func skynetNode(result chan<- int, first, leaves int) {
	if leaves == 1 {
		result <- first
		return
	}
	children := make(chan int)
	for i := 0; i < 10; i++ {
		go skynetNode(children, first+i*(leaves/10), leaves/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	result <- sum
}

func skynet(leaves int) {
	start := time.Now()
	result := make(chan int)
	go skynetNode(result, 0, leaves)
	if sum := <-result; sum != leaves*(leaves-1)/2 {
		panic(sum)
	}
	report("skynet", float64(time.Since(start).Microseconds())/1000, "ms")
}

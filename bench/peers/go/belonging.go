// Structured concurrency as it is written in Go without further modules: golang.org/x/sync/errgroup
// is a WaitGroup, a cancelled context and the first error, and so is `jobGroup`.
package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type jobGroup struct {
	wait   sync.WaitGroup
	cancel context.CancelFunc
	once   sync.Once
	err    error
}

func newGroup(parent context.Context) (*jobGroup, context.Context) {
	ctx, cancel := context.WithCancel(parent)
	return &jobGroup{cancel: cancel}, ctx
}

func (group *jobGroup) Go(job func() error) {
	group.wait.Add(1)
	go func() {
		defer group.wait.Done()
		group.fail(job())
	}()
}

func (group *jobGroup) fail(err error) {
	if err != nil {
		group.once.Do(func() {
			group.err = err
			group.cancel()
		})
	}
}

func (group *jobGroup) Wait() error {
	group.wait.Wait()
	group.cancel()
	return group.err
}

func cancellable() context.Context {
	parent, cancel := context.WithCancel(context.Background())
	_ = cancel
	return parent
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func group(count int) {
	const jobs = 16
	parent := cancellable()
	sum := 0
	start := time.Now()
	for i := 0; i < count; i++ {
		var results [jobs]int
		group, ctx := newGroup(parent)
		for j := 0; j < jobs; j++ {
			result := &results[j]
			group.Go(func() error {
				_ = ctx
				*result = 1
				return nil
			})
		}
		check(group.Wait())
		for _, result := range results {
			sum += result
		}
	}
	if sum != count*jobs {
		panic(sum)
	}
	report("group", nanosecondsEach(start, count), "ns/group")
}

type outcome struct {
	value int
	err   error
}

func runTask(parent context.Context, job func(ctx context.Context) (int, error)) chan outcome {
	ctx, cancel := context.WithCancel(parent)
	result := make(chan outcome, 1)
	go func() {
		value, err := job(ctx)
		cancel()
		result <- outcome{value, err}
	}()
	return result
}

func task(count int) {
	parent := cancellable()
	sum := 0
	start := time.Now()
	for i := 0; i < count; i++ {
		result := <-runTask(parent, func(ctx context.Context) (int, error) { return i, nil })
		check(result.err)
		sum += result.value
	}
	if sum != count*(count-1)/2 {
		panic(sum)
	}
	report("task", nanosecondsEach(start, count), "ns/task")
}

func pool(count int) {
	const workers, queue = 4, 128
	var done int64
	start := time.Now()
	group, ctx := newGroup(cancellable())
	jobs := make(chan func(ctx context.Context) error, queue)
	for w := 0; w < workers; w++ {
		group.Go(func() error {
			for job := range jobs {
				group.fail(job(ctx))
			}
			return nil
		})
	}
	for i := 0; i < count; i++ {
		jobs <- func(ctx context.Context) error {
			atomic.AddInt64(&done, 1)
			return nil
		}
	}
	close(jobs)
	check(group.Wait())
	if done != int64(count) {
		panic(done)
	}
	report("pool", nanosecondsEach(start, count), "ns/job")
}

func withTimeout(parent context.Context, limit time.Duration,
	job func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- job(ctx) }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func timeout(count int) {
	parent := cancellable()
	done := 0
	start := time.Now()
	for i := 0; i < count; i++ {
		check(withTimeout(parent, time.Hour, func(ctx context.Context) error {
			done++
			return nil
		}))
	}
	if done != count {
		panic(done)
	}
	report("timeout", nanosecondsEach(start, count), "ns/call")
}

func deriveAndCancel(count int) {
	parent := cancellable()
	ended := 0
	start := time.Now()
	for i := 0; i < count; i++ {
		child, cancel := context.WithCancel(parent)
		cancel()
		if child.Err() != nil {
			ended++
		}
	}
	if ended != count {
		panic(ended)
	}
	report("context", nanosecondsEach(start, count), "ns/context")
}

// liveContexts measures pages; the collector runs first, so that only what lives is counted.
func liveContexts(count int) {
	parent := cancellable()
	all := make([]context.Context, count)
	cancels := make([]context.CancelFunc, count)
	for i := range all {
		all[i], cancels[i] = parent, func() {}
	}
	runtime.GC()
	before := residentBytes()
	for i := range all {
		all[i], cancels[i] = context.WithCancel(parent)
	}
	runtime.GC()
	report("contexts", (residentBytes()-before)/float64(count), "B/context")
	runtime.KeepAlive(all)
	runtime.KeepAlive(cancels)
}

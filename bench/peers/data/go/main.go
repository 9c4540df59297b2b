// pgx for the rows of `make bench-data`:  go_data METRIC COUNT
// It finds the server by PGHOST and the like.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	world = 10_000
	page  = 10_000
	table = 1_000_000
)

var background = context.Background()

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(connections int) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig("")
	must(err)
	config.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(background, config)
	must(err)
	return pool
}

// Microseconds for each of the calls of so many callers.
func timed(callers, calls int, call func() error) float64 {
	drive := func(calls int) {
		var left atomic.Int64
		left.Store(int64(calls))
		var group sync.WaitGroup
		for i := 0; i < callers; i++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for left.Add(-1) >= 0 {
					must(call())
				}
			}()
		}
		group.Wait()
	}
	drive((calls + 9) / 10)
	begun := time.Now()
	drive(calls)
	return float64(time.Since(begun).Nanoseconds()) / 1000 / float64(calls)
}

func anyID() int { return 1 + rand.Intn(world) }

func scan(pool *pgxpool.Pool, text string, wanted int) {
	rows, err := pool.Query(background, text)
	must(err)
	count := 0
	for rows.Next() {
		var id int32
		var n int64
		var name string
		var at time.Time
		must(rows.Scan(&id, &n, &name, &at))
		count++
	}
	must(rows.Err())
	if count != wanted {
		must(fmt.Errorf("other rows"))
	}
}

func batch(pool *pgxpool.Pool) error {
	var all pgx.Batch
	for i := 0; i < 20; i++ {
		all.Queue("select id, randomnumber from world where id = $1", anyID())
	}
	results := pool.SendBatch(background, &all)
	defer results.Close()
	for i := 0; i < 20; i++ {
		var id, number int32
		if err := results.QueryRow().Scan(&id, &number); err != nil {
			return err
		}
	}
	return nil
}

func transaction(pool *pgxpool.Pool) error {
	return pgx.BeginFunc(background, pool, func(tx pgx.Tx) error {
		id := anyID()
		var number int32
		row := tx.QueryRow(background, "select randomnumber from world where id = $1", id)
		if err := row.Scan(&number); err != nil {
			return err
		}
		if _, err := tx.Exec(background, "update world set randomnumber = $2 where id = $1", id, anyID()); err != nil {
			return err
		}
		_, err := tx.Exec(background, "insert into ins(a, b) values ($1, $2)", id, "x")
		return err
	})
}

func cancel(pool *pgxpool.Pool, count int) float64 {
	var took []float64
	for i := 0; i < count; i++ {
		stoppable, stop := context.WithCancel(background)
		ended := make(chan struct{})
		go func() {
			_, _ = pool.Exec(stoppable, "select pg_sleep(5)")
			close(ended)
		}()
		time.Sleep(50 * time.Millisecond)
		begun := time.Now()
		stop()
		<-ended
		took = append(took, float64(time.Since(begun).Microseconds())/1000)
	}
	sort.Float64s(took)
	return took[len(took)/2]
}

func main() {
	metric := os.Args[1]
	count, err := strconv.Atoi(os.Args[2])
	must(err)
	report := func(value float64, unit string) { fmt.Printf("go %s %.4f %s\n", metric, value, unit) }
	switch metric {
	case "pg_select":
		pool := open(4)
		report(timed(64, count, func() error {
			var id, number int32
			row := pool.QueryRow(background, "select id, randomnumber from world where id = $1", anyID())
			return row.Scan(&id, &number)
		}), "us/query")
	case "pg_batch20":
		pool := open(4)
		report(timed(16, count, func() error { return batch(pool) }), "us/batch")
	case "pg_tx3":
		pool := open(16)
		report(timed(16, count, func() error { return transaction(pool) }), "us/tx")
	case "pg_rows10k":
		pool := open(1)
		report(timed(1, count, func() error {
			scan(pool, "select id, n, name, ts from big where id <= 10000", page)
			return nil
		})*1000/page, "ns/row")
	case "pg_stream1m":
		pool := open(1)
		begun := time.Now()
		scan(pool, "select id, n, name, ts from big", table)
		report(float64(time.Since(begun).Nanoseconds())/table, "ns/row")
	case "cancel_ms":
		report(cancel(open(2), count), "ms")
	default:
		must(fmt.Errorf("no such metric: %s", metric))
	}
}

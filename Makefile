# A thin front: each target says what it is for; the work is in scripts/, cmake/ and tools/.
.DEFAULT_GOAL := help
comma := ,
.PHONY: help run demo install test test-deep test-long test-flaky test-cross bench bench-http
.PHONY: bench-js bench-data wpt cost lint format docs clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do \
	    printf '  make %-12s %s\n' "$$name" "$$text"; done

run: ## build and serve the example application in JavaScript [PORT=8080]
	@scripts/setup build js
	@scripts/build dev weft_program weft_js_library
	@build/dev/bin/weft serve --config examples/app/weft.json $(if $(PORT),--port '$(PORT)')

demo: ## build and serve the demonstration page in C++ [ADDRESS=127.0.0.1:8080]
	@scripts/setup
	@scripts/build dev example_http_demo
	@build/dev/bin/example_http_demo $(ADDRESS)

PREFIX ?= /usr/local
install: ## copy the library, its headers, and weft where V8 is set up [PREFIX=/usr/local]
	@scripts/setup
	@scripts/build package
	@cmake --install build/package --prefix '$(PREFIX)' >build/.install.log || \
	    { cat build/.install.log; exit 1; }
	@echo "installed into $(PREFIX): find_package(weft) with CMAKE_PREFIX_PATH=$(PREFIX)"

test: ## build and run every test of the plain build
	@scripts/setup build js data
	@scripts/lanes test

test-deep: ## NDEBUG, sanitizers, forced migration, simulation, fuzz corpora, peers, npm, browser
	@scripts/setup build js data odbc deep docs cost peers \
	    $(if $(wildcard bench/smoke),bench bench-http bench-js)
	@scripts/setup browser || true  # without it one lane is UNAVAILABLE
	@scripts/lanes deep

test-long: ## the same tests with their full counts (hours)
	@scripts/setup build js data odbc deep
	@scripts/lanes long

test-flaky: ## every test 30 times, loaded and on one cpu [COUNT=n]; pieces: scripts/flaky --help
	@scripts/setup build js data
	@COUNT='$(COUNT)' scripts/lanes flaky

test-cross: ## base, fiber, sync for aarch64 and riscv64 under qemu-user
	@scripts/setup build cross
	@scripts/lanes cross

wpt: ## the Web Platform Tests of a checkout, in JavaScript WPT=folder [GROUPS=group,...]
	@scripts/setup build js
	@scripts/build dev weft_program weft_js_library
	@tests/wpt/run --wpt '$(WPT)' $(subst $(comma), ,$(GROUPS))

bench: ## our figures beside the peers' [ONLY=name,...] [PEERS=go,...] [ROUNDS=n]
	@scripts/setup build bench
	@ONLY='$(ONLY)' PEERS='$(PEERS)' ROUNDS='$(ROUNDS)' bench/run

bench-http: ## the same for the HTTP servers
	@scripts/setup build bench-http
	@ONLY='$(ONLY)' PEERS='$(PEERS)' ROUNDS='$(ROUNDS)' bench/run http

bench-js: ## the same for JavaScript, beside Node, Deno, Bun, workerd (from npm), Go [WEFT=program]
	@scripts/setup build js bench-js
	@ONLY='$(ONLY)' PEERS='$(PEERS)' ROUNDS='$(ROUNDS)' WEFT='$(WEFT)' bench/run js

bench-data: ## the same for databases: C++ and JavaScript, beside libpq, Bun, postgres.js, pg, pgx
	@scripts/setup build js data bench-js
	@ONLY='$(ONLY)' PEERS='$(PEERS)' ROUNDS='$(ROUNDS)' WEFT='$(WEFT)' bench/run data

cost: ## instructions, locked operations, system calls of an operation [ONLY=row,...]
	@scripts/setup build js cost
	@scripts/build release weft_bench weft-bench-http
	@scripts/build release weft_program weft_js_library || echo 'cost: without JavaScript'
	@ONLY='$(ONLY)' bench/cost/run

lint: ## tidy, clang-format and clang-tidy
	@scripts/setup build lint
	@tools/tidy
	@scripts/format --check
	@scripts/lint

format: ## let clang-format write every source
	@scripts/setup lint
	@scripts/format

docs: ## the reference of the C++ headers, build/docs/html/index.html
	@scripts/setup docs
	@scripts/docs

clean: ## remove build/
	@rm -rf build

# Thin over meson: `make demo` and `make test` are the two commands, the rest is for developers.
# Each target first installs what tools/packages lists for it and the machine lacks.

JOBS ?= $(shell nproc)
CASES ?=
RUN = tests/run $(RUN_OPTIONS)
FUZZ_SECONDS ?= 3600
NINJA = ninja -j $(JOBS)
QUIET_MESON = meson setup --fatal-meson-warnings

.PHONY: all demo demo-stop test test-asan test-ubsan test-tsan fuzz check-clang install clean

all: build/build.ninja
	@$(NINJA) -C build

demo:
	@tools/install build demo
	@$(MAKE) --no-print-directory all
	@tools/demo.sh start

demo-stop:
	@tools/demo.sh stop

# Unit tests, every case, a minute of fuzzing.  CASES='rename acl' runs only those that match.
test:
	@tools/install build demo test
	@$(MAKE) --no-print-directory all
	@$(RUN) --build build $(CASES)

# AddressSanitizer and UndefinedBehaviorSanitizer go together; one build serves both names.
test-asan test-ubsan: build-asan/build.ninja
	@$(NINJA) -C build-asan
	@$(RUN) --build build-asan $(CASES)

test-tsan: build-tsan/build.ninja
	@$(NINJA) -C build-tsan
	@$(RUN) --build build-tsan $(CASES)

fuzz: build-fuzz/build.ninja
	@$(NINJA) -C build-fuzz tests/fuzz/fuzz-wire tests/fuzz/fuzz-seeds
	@tests/fuzz/run --build build-fuzz --seconds $(FUZZ_SECONDS)

check-clang: build-clang/build.ninja
	@$(NINJA) -C build-clang

install: all
	@meson install -C build --no-rebuild

clean:
	rm -rf build build-asan build-tsan build-clang build-fuzz

build/build.ninja:
	@tools/install build
	@$(QUIET_MESON) $(@D) >/dev/null

build-asan/build.ninja:
	@tools/install build demo test
	@$(QUIET_MESON) -Db_sanitize=address,undefined -Db_lundef=false $(@D) >/dev/null

build-tsan/build.ninja:
	@tools/install build demo test
	@$(QUIET_MESON) -Db_sanitize=thread -Db_lundef=false $(@D) >/dev/null

build-clang/build.ninja:
	@tools/install build test
	@CC=clang $(QUIET_MESON) $(@D) >/dev/null

build-fuzz/build.ninja:
	@tools/install build test
	@CC=clang $(QUIET_MESON) -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false $(@D) >/dev/null

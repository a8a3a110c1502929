# Thin over meson: `make demo` and `make test` are the two commands, the rest is for developers.
# Each target first installs what tools/packages lists for it and the machine lacks.

JOBS ?= $(shell nproc)
CASES ?=
RUN = tests/run $(RUN_OPTIONS)
FUZZ_SECONDS ?= 3600
NINJA = ninja -j $(JOBS)
comma := ,
# $(call setup,OPTIONS): configures $(@D), silent unless it fails.
setup = @out=$$($(CC_IS) meson setup $(1) $(@D) 2>&1) || { echo "$$out" | tail -n 20; rm -rf $(@D); exit 1; }

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
	@$(NINJA) -C build-fuzz $(foreach f,wire stored journal,tests/fuzz/fuzz-$(f) tests/fuzz/fuzz-$(f)-seeds)
	@tests/fuzz/run --build build-fuzz --seconds $(FUZZ_SECONDS)

check-clang: build-clang/build.ninja
	@$(NINJA) -C build-clang

install: all
	@meson install -C build --no-rebuild

clean:
	rm -rf build build-asan build-tsan build-clang build-fuzz

build/build.ninja:
	@tools/install build
	$(call setup,)

build-asan/build.ninja:
	@tools/install build demo test
	$(call setup,-Db_sanitize=address$(comma)undefined -Db_lundef=false \
		-Dc_args=-fsanitize=bounds-strict$(comma)float-cast-overflow)

build-tsan/build.ninja:
	@tools/install build demo test
	$(call setup,-Db_sanitize=thread -Db_lundef=false)

build-clang/build.ninja build-fuzz/build.ninja: CC_IS = CC=clang

build-clang/build.ninja:
	@tools/install build test
	$(call setup,)

build-fuzz/build.ninja:
	@tools/install build test
	$(call setup,-Dfuzz=true -Db_sanitize=address$(comma)undefined -Db_lundef=false)

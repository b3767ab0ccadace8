# sbx.h is one header: nothing here is needed to use it. `make help` lists what can be done.
# Needs GNU make; `make CC=clang test` takes another compiler. All output goes to build/.

BUILD = build
CFLAGS = -O1 -g
TESTFLAGS = -O0 -g # for the tests themselves, which only have to compile fast
WARN = -Wall -Wextra -Wpedantic -Wshadow
JOBS = 2
MINUTES = 1
COMPILE = $(CC) -std=c99 $(CFLAGS) $(WARN) -pthread
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

OBJECTS = $(patsubst tests/%.c,%.o,$(wildcard tests/test_*.c)) main.o impl.o
HEADERS = sbx.h $(wildcard tests/*.h)
EXAMPLES = $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*.c))
RUN = BUILD='$(BUILD)' CC='$(CC)' sh tests/run.sh

help:
	@echo 'make demo      well- and ill-behaved programs, and what sbx.h says of each'
	@echo 'make test      all tests; needs a C compiler, make and sh (under 3 minutes)'
	@echo 'make check     more: sanitizers, analysers, platforms, faults, mutants, fuzzing (15 minutes)'
	@echo 'make proof     all there is: also every build, wing by wing, the corpus, all of qemu (long)'
	@echo 'make wings     the header with one wing less, each, and with none'
	@echo 'make treesoak  the attacks on the tree, 200 times each, as root and as an ordinary user'
	@echo 'make faults    every system call of a run made to fail (FAULTS=all: with every error)'
	@echo 'make coverage  lines and branches of sbx.h that tests, faults and corpus reach (long)'
	@echo 'make mutants   sbx.h with a mistake in it, 200 times: the tests have to notice (long)'
	@echo 'make fuzz      libFuzzer, a minute for each target'
	@echo 'make soak      boxes of every kind from eight threads for MINUTES=1'
	@echo 'make corpus    how often the verdict is the true one, over programs of known end'
	@echo 'make bench     what a run costs, as ratios to hand-written code; GROUPS=words for a part'
	@echo 'make bench-check  fails if a budget of it is missed three times'
	@echo 'make costs     measures again what the table in README.md says'
	@echo 'make walk      how a reader who follows a run goes through sbx.h; VERBOSE=1 lists the way'
	@echo 'make examples  build the programs of examples/ into $(BUILD)/examples'
	@echo 'make install   header, sbxrun, manual pages, pkg-config; PREFIX=$(PREFIX), DESTDIR='
	@echo 'make clean     remove $(BUILD)/'

demo: $(BUILD)/examples/demo
	@$(BUILD)/examples/demo

# The test program is built four ways: {all of Linux, portable POSIX only} x {plain, sanitizers}.
# Root runs it as root and as an ordinary user. To take less than three minutes on two cores, `make
# test` leaves a part of the eight to `make check`. Longest first.
TEST_VARIANTS = plain portable@user
MORE_VARIANTS = asan portable-asan portable@root
BUILDS = $(patsubst %,$(BUILD)/%/tests,$(foreach job,$(1),$(firstword $(subst @, ,$(job)))))

# And with one wing of the header less, with none of them, and as nothing but the core.
WINGS = tree watch cgroup policy call code
WING_VARIANTS = $(WINGS:%=no-%) no-wings core

FOR_PEOPLE = examples sbxrun judge mcp readme # tests of the programs in examples/

test:
	@$(MAKE) -s -j$(JOBS) programs $(call BUILDS,$(TEST_VARIANTS))
	@$(RUN) $(TEST_VARIANTS) utest compile cost $(FOR_PEOPLE)

# Everything there is, each as a sample that takes a minute or two: 15 minutes on two cores, two jobs at a
# time. The whole of each: FAULTS=all, SECONDS_EACH=60 (fuzzing), SAMPLE=1 (mutants), QEMU=all, MINUTES=10 (soak).
CHECKS = qemu faults tidy matrix mutants fuzz valgrind threads soak-mixed analyzer platforms languages honest \
	install mcp-client browser cppcheck format
check:
	@$(MAKE) -s -j$(JOBS) programs $(call BUILDS,plain tsan asan@user)
	@LANES=2 MINUTES='$(MINUTES)' $(RUN) asan@user $(CHECKS)

# Longer: every build, wing by wing, a second kernel, the corpus, more of faults, fuzzing, mutants.
proof:
	@$(MAKE) -s -j$(JOBS) programs $(call BUILDS,plain tsan $(MORE_VARIANTS) $(WING_VARIANTS))
	@$(RUN) $(MORE_VARIANTS) $(WING_VARIANTS) \
		qemu-all matrix format tidy soak valgrind threads slow languages honest copied mcp-client install browser cppcheck corpus \
		analyzer platforms faults fuzz mutants

wings: # what is left works, and what is off is refused
	@$(MAKE) -s -j$(JOBS) programs $(call BUILDS,$(WING_VARIANTS))
	@$(RUN) $(WING_VARIANTS)

# Longer still: the attacks on the tree by the hundred; and the second kernel alone.
treesoak qemu qemu-all:
	@$(MAKE) -s -j$(JOBS) programs $(BUILD)/plain/tests
	@$(RUN) $@

faults fuzz mutants platforms coverage:
	@BUILD='$(BUILD)' CC='$(CC)' sh tests/$@/run.sh

soak:
	@mkdir -p $(BUILD)
	@$(COMPILE) -o $(BUILD)/soak tests/soak.c
	@$(BUILD)/soak mixed $(MINUTES)

corpus:
	@BUILD='$(BUILD)' CC='$(CC)' sh tests/corpus/run.sh $(WORD)

walk:
	@BUILD='$(BUILD)' CC='$(CC)' VERBOSE='$(VERBOSE)' sh tests/walk.sh $(RUNS)

bench:
	@CC='$(CC)' sh tests/bench/run.sh $(GROUPS)

bench-check: # on a quiet machine: every budget of tests/bench/bench.c, in three tries
	@CC='$(CC)' sh tests/bench/run.sh --check $(GROUPS)

costs: # the table and the picture of README.md, from this machine; quiet, with the peers installed
	@CC='$(CC)' sh tests/bench/run.sh levels peers
	@$(BUILD)/bench/plot $(BUILD)/bench/results.jsonl .github README.md

examples: $(EXAMPLES)

# What others need of it: `make install PREFIX=/usr DESTDIR=/tmp/package`.
PREFIX = /usr/local
VERSION = $(shell sed -n 's/^.define SBX_VERSION "\(.*\)".*/\1/p' sbx.h)
MAN = $(DESTDIR)$(PREFIX)/share/man
install: $(BUILD)/examples/sbxrun
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/bin $(MAN)/man1 $(MAN)/man3 \
		$(DESTDIR)$(PREFIX)/share/pkgconfig
	install -m 644 sbx.h $(DESTDIR)$(PREFIX)/include/sbx.h
	install -m 755 $(BUILD)/examples/sbxrun $(DESTDIR)$(PREFIX)/bin/sbxrun
	sh examples/man.sh sbx.3 >$(MAN)/man3/sbx.3
	sh examples/man.sh sbxrun.1 $(abspath $(BUILD))/examples/sbxrun >$(MAN)/man1/sbxrun.1
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' '' 'Name: sbx' \
		'Description: run a program under limits, and learn why it ended' 'Version: $(VERSION)' \
		'Cflags: -I$${includedir}' >$(DESTDIR)$(PREFIX)/share/pkgconfig/sbx.pc

clean:
	rm -rf $(BUILD)

# ==== What the tests are made of ====

programs: $(BUILD)/child $(BUILD)/selftest_utest $(EXAMPLES)

$(BUILD)/portable/%: VARIANT = -DSBX_NO_LINUX
$(BUILD)/asan/%: VARIANT = $(SANITIZE)
$(BUILD)/portable-asan/%: VARIANT = $(SANITIZE) -DSBX_NO_LINUX
$(BUILD)/tsan/%: VARIANT = -fsanitize=thread

# For tests/coverage: what is counted is the header alone. The counters are mapped from a file that
# all processes share, so that they survive _exit, exec and SIGKILL.
PROFILE = $(abspath $(BUILD))/profile
COUNTED = -fprofile-instr-generate=$(PROFILE)/%m%c -fcoverage-mapping -mllvm -runtime-counter-relocation \
	-Wno-unused-command-line-argument
$(BUILD)/counted/%: CC = clang
$(BUILD)/counted-portable/%: CC = clang
$(BUILD)/counted-portable/%: VARIANT = -DSBX_NO_LINUX
$(BUILD)/counted/impl.o $(BUILD)/counted/tests: private VARIANT = $(COUNTED)
$(BUILD)/counted-portable/impl.o $(BUILD)/counted-portable/tests: private VARIANT = -DSBX_NO_LINUX $(COUNTED)

$(BUILD)/no-tree/%: VARIANT = -DSBX_NO_TREE
$(BUILD)/no-watch/%: VARIANT = -DSBX_NO_WATCH
$(BUILD)/no-cgroup/%: VARIANT = -DSBX_NO_CGROUP
$(BUILD)/no-policy/%: VARIANT = -DSBX_NO_POLICY
$(BUILD)/no-call/%: VARIANT = -DSBX_NO_CALL
$(BUILD)/no-code/%: VARIANT = -DSBX_NO_CODE
NO_WINGS = -DSBX_NO_TREE -DSBX_NO_WATCH -DSBX_NO_CGROUP -DSBX_NO_POLICY -DSBX_NO_CALL -DSBX_NO_CODE
$(BUILD)/no-wings/%: VARIANT = $(NO_WINGS)
$(BUILD)/core/%: VARIANT = -DSBX_NO_LINUX $(NO_WINGS)

.SECONDEXPANSION: # so that a rule can hold for every variant: $$* is "variant" or "variant/suite"
.SECONDARY:       # and its objects are kept

$(BUILD)/%.o: tests/$$(notdir $$*).c $(HEADERS)
	@mkdir -p $(@D) && echo "  CC $@"
	@$(COMPILE) $(if $(filter %/impl.o,$@),,$(TESTFLAGS)) $(VARIANT) -c -o $@ $<

# Where a program with these flags does not even start (no sanitizer here), a note says so instead.
$(BUILD)/%/tests: $$(addprefix $(BUILD)/$$*/,$(OBJECTS)) $(BUILD)/child
	@rm -f $(@D)/unavailable $@ && cp $(BUILD)/child $(@D)/child
	@if $(COMPILE) $(VARIANT) -o $(@D)/try tests/compile/empty.c 2>/dev/null && $(@D)/try; \
	then $(COMPILE) $(VARIANT) -o $@ $(filter %.o,$^); \
	else echo '$(CC) builds nothing that runs with $(VARIANT)' >$(@D)/unavailable; fi

# The child misbehaves on purpose, so it never gets a sanitizer.
$(BUILD)/child: tests/child.c $(wildcard tests/*_child.c)
	@mkdir -p $(@D)
	$(COMPILE) -o $@ tests/child.c

$(BUILD)/selftest_utest: tests/selftest_utest.c tests/utest.h
	@mkdir -p $(@D)
	$(COMPILE) -o $@ tests/selftest_utest.c

$(BUILD)/examples/%: examples/%.c sbx.h
	@mkdir -p $(@D)
	$(CC) $(TESTFLAGS) $(WARN) -o $@ $< -pthread

.PHONY: install proof coverage walk wings treesoak qemu qemu-all platforms faults fuzz mutants soak help demo test check \
	corpus bench bench-check costs examples clean \
	programs

"""fuzz_target: one libFuzzer program, and a test that replays its corpus without libFuzzer."""

def fuzz_target(name, deps):
    """A fuzzer of `name`.cc, which defines LLVMFuzzerTestOneInput.

    Args:
      name: ends with _fuzz. `./dev fuzz NAME` runs it; NAME_corpus_test runs in CI.
      deps: of the source.
    """
    native.cc_library(
        name = name + "_lib",
        testonly = True,
        srcs = [name + ".cc"],
        deps = deps,
        alwayslink = True,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],  # Only --config=fuzz builds what it tests for it.
        deps = [":" + name + "_lib"],
    )
    native.cc_test(
        name = name + "_corpus_test",
        size = "small",
        args = ["tests/fuzz/corpus/" + name],
        data = native.glob(["corpus/" + name + "/*"]),
        deps = [
            ":" + name + "_lib",
            ":replay",
        ],
    )

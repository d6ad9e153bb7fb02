"""usage: many_threads.py BUNDLE THREADS   One model for many Python threads, its parameters there once.

Runs of one `Model` follow each other; models that share run at the same time.
"""

import concurrent.futures
import sys

import numpy as np

import burnish


def main(path, threads):
    first = burnish.load(path, threads=1)
    models = [first] + [burnish.load(path, threads=1, share_with=first)
                        for _ in range(int(threads) - 1)]
    random = np.random.default_rng(0)
    inputs = [random.random(info.shape).astype(info.dtype) for info in first.inputs]
    expected = np.asarray(first(*inputs))

    def work(model):
        return all(np.array_equal(model(*inputs), expected) for _ in range(100))

    with concurrent.futures.ThreadPoolExecutor(len(models)) as pool:
        same = list(pool.map(work, models))
    print(f"{100 * len(models)} runs, {'all the same' if all(same) else 'some differ'}")
    return 0 if all(same) else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

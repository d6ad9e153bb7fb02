"""usage: tune_model.py MODEL.onnx OUT.bundle TRIALS [DATABASE]   Tunes a model on this machine.

Ctrl-C ends it; the next run with the same database goes on with the study.
"""

import sys

import burnish


def show(progress):
    total = f"{progress.model_ms:.3f} ms" if progress.model_ms is not None else "not all measured yet"
    print(f"{progress.state}: {progress.trials} of {progress.trials_max} trials, {total}", flush=True)


def interrupted_studies(database):
    try:
        return burnish.studies(state="interrupted", database=database, limit=1)
    except burnish.BurnishError as error:
        if error.code != "B0510":  # There is no database yet.
            raise
        return []


def main(model, bundle, trials, database=None):
    interrupted = interrupted_studies(database)
    if interrupted:
        print("going on with", interrupted[0].id)
        result = interrupted[0].resume(bundle, callback=show)
    else:
        result = burnish.tune(model, bundle, trials=int(trials), database=database, callback=show)
    for task in sorted(result.tasks, key=lambda task: -(task.gain or 0)):
        gain = "" if task.gain is None else f", {task.gain:.2f} times as fast as without tuning"
        print(f"{task.name}: {task.best_ms} ms{gain}")
    print("wrote", result.bundle)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

/* Burnish runtime, C API: runs a compiled model (a bundle) on the CPU.
 *
 *   BurnishModel* model = NULL;
 *   if (burnish_open("resnet50.bundle", NULL, &model) != BURNISH_OK) {
 *     fprintf(stderr, "%s\n", burnish_last_error());
 *     return 1;
 *   }
 *   BurnishInput input = {.struct_size = sizeof(input), .dtype = BURNISH_F32, .data = image};
 *   BurnishOutput output = {.struct_size = sizeof(output), .data = logits,
 *                           .capacity_bytes = sizeof(logits)};
 *   if (burnish_run_tensors(model, &input, 1, &output, 1, NULL) != BURNISH_OK) { ... }
 *   burnish_close(model);
 *
 * A BurnishModel may be used by several threads: its calls wait for each other. For inferences at
 * the same time open it once and again with `share_with`: one copy of the parameters, activations
 * and threads of its own for each. No function throws, prints or ends the process.
 *
 * A forked child may go on with the models that its parent had opened, also while other threads of
 * the parent were using them.
 *
 * Where nothing else is said, tensors are dense row-major bytes, little-endian.
 *
 * Structs grow at their end. Each begins with `struct_size`, which the caller sets to its own
 * sizeof, also where the library fills the struct in, and sets everything else to 0:
 *   BurnishTensorInfo info = {.struct_size = sizeof(info)};
 * A program with an older header passes a shorter struct: what it lacks counts as 0, or is not
 * filled in. A longer one, of a newer header, is taken where all that this library does not know is
 * 0, and what it does not know is filled with 0.
 */
#ifndef BURNISH_BURNISH_H_
#define BURNISH_BURNISH_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BURNISH_API __attribute__((visibility("default")))

typedef struct BurnishModel BurnishModel;
typedef struct BurnishThreads BurnishThreads;

/* Numbers are never reused. */
typedef enum BurnishStatus {
  BURNISH_OK = 0,
  BURNISH_INVALID_ARGUMENT = 3,    /* The caller's or the file's fault. */
  BURNISH_NOT_FOUND = 5,           /* No such file. */
  BURNISH_RESOURCE_EXHAUSTED = 8,  /* No memory, threads or file descriptors. */
  BURNISH_FAILED_PRECONDITION = 9, /* A bundle for another CPU; a tensor that cannot be bound. */
  BURNISH_OUT_OF_RANGE = 11,       /* No such input, output or step; an index in the input data. */
  BURNISH_INTERNAL = 13,
  BURNISH_DATA_LOSS = 15 /* A damaged bundle. */
} BurnishStatus;

/* Structs and functions have it as int32_t: a newer library may have more. */
typedef enum BurnishDtype {
  BURNISH_F32 = 1,
  BURNISH_F64 = 2,
  BURNISH_F16 = 3,
  BURNISH_BF16 = 4,
  BURNISH_I8 = 5,
  BURNISH_U8 = 6,
  BURNISH_I16 = 7,
  BURNISH_U16 = 8,
  BURNISH_I32 = 9,
  BURNISH_U32 = 10,
  BURNISH_I64 = 11,
  BURNISH_U64 = 12,
  BURNISH_BOOL = 13 /* One byte, 0 or 1. */
} BurnishDtype;

#define BURNISH_RANK_MAX 16

/* Calls work(work_arg, worker, workers) for each worker from 0 to below `workers`, each on a thread
 * of its own and all at the same time, because they wait for each other; returns when all have
 * returned. `workers` is its choice from 1 to workers_max, the same in all of these calls. */
typedef void (*BurnishWork)(void* work_arg, int32_t worker, int32_t workers);
typedef void (*BurnishParallel)(void* parallel_arg, BurnishWork work, void* work_arg,
                                int32_t workers_max);

/* What is 0 has its default. */
typedef struct BurnishThreadsOptions {
  uint32_t struct_size;
  /* Threads that take part in an inference, the caller's included. 0: as many as the process may
   * use: its CPUs, and of those as many whole ones as its control groups have time for. */
  int32_t thread_count;
  /* NULL: threads are not pinned. Else `thread_count` CPU numbers, of CPUs that the process may
   * use; the caller's thread runs on the first during each inference. */
  const int32_t* cpus;
  /* How long a thread spins before it sleeps, at a barrier and between inferences. 0: 50,000, and
   * at a barrier of more than four threads 12,500 for each of them. */
  int64_t spin_ns;
  /* Not NULL: no threads are started; this function of the caller runs up to `thread_count` workers
   * on its own. `cpus` must then be NULL. It must outlive what uses these threads, and its threads
   * are the caller's to bring over a fork, unless they end there. */
  BurnishParallel parallel;
  void* parallel_arg;
  /* Not 0: a forked child must not call `parallel`, as OpenMP's threads do not survive a fork:
   * there this library starts threads of its own. */
  int32_t parallel_ends_at_fork;
  int32_t reserved; /* 0 */
} BurnishThreadsOptions;

/* What is 0 has its default. */
typedef struct BurnishOptions {
  uint32_t struct_size;
  /* As in BurnishThreadsOptions, for threads of this model alone; 0: what the bundle was tuned for,
   * but not more than there are CPUs. All three must be 0 where `threads` is given. */
  int32_t thread_count;
  const int32_t* cpus;
  int64_t spin_ns;
  /* Not NULL: the model runs on these threads, in turn with others. May be released before. */
  BurnishThreads* threads;
  /* Not NULL: take the parameters of this model, which was opened from the same bundle. It may be
   * closed first. */
  BurnishModel* share_with;
  /* Not NULL: the parameters live in this memory, 4096-aligned, of burnish_parameter_bytes() at
   * least, until the model is closed. */
  void* parameter_memory;
  uint64_t parameter_memory_bytes;
  /* Not 0: parameter_memory holds the parameters already (written by another process, maybe). */
  int32_t parameters_are_filled;
  /* Not 0: do not check the hash of the parameters, which takes 0.3 ms per megabyte of one core (4
   * on a CPU without SHA instructions), shared by the CPUs. */
  int32_t trust_parameters;
  /* Not NULL: new values for parameters of the model, by the names, types and shapes that it had
   * when it was compiled; nothing is compiled. Strides may be any. Refused by name where the bundle
   * has a parameter only folded, shared or rewritten, unless it was compiled with --refit:
   * burnish_parameter_info lists the others. */
  const struct BurnishInput* replacements;
  int32_t replacement_count;
  int32_t reserved; /* 0 */
} BurnishOptions;

typedef struct BurnishTensorInfo {
  uint32_t struct_size;
  int32_t dtype;    /* A BurnishDtype. */
  const char* name; /* Lives as long as the model. */
  int32_t rank;     /* 0: a scalar. */
  /* Not 0: burnish_bind_* accepts it, with memory aligned to this many bytes. */
  uint32_t bind_alignment;
  uint64_t size_bytes; /* Of the dense tensor. */
  int64_t shape[BURNISH_RANK_MAX];
} BurnishTensorInfo;

/* An input of one run. Where a caller decides about extents (a model that was compiled with --dim),
 * burnish_input_info has the greatest shape, `shape` says this run's, and the other inputs must
 * agree with it; a size outside of its range is BURNISH_INVALID_ARGUMENT. */
typedef struct BurnishInput {
  uint32_t struct_size;
  int32_t dtype;          /* A BurnishDtype. */
  const char* name;       /* NULL: the input with this struct's place in the array. */
  const void* data;       /* Element 0. May be NULL where there are no elements. */
  uint64_t size_bytes;    /* Not 0: no element may lie outside of these bytes from `data` on. */
  const int64_t* shape;   /* `rank` extents. NULL: the model's. */
  const int64_t* strides; /* `rank` steps in elements, any sign. NULL: dense row-major. */
  int32_t rank;
  int32_t reserved; /* 0 */
} BurnishInput;

/* Gives memory of at least `info->size_bytes` for an output, or NULL. Where the data or the inputs'
 * shapes decide about the output's shape, that is the most that it may need. Memory that is aligned
 * to `info->bind_alignment` saves a copy. Is called on the thread that runs the model, at most once
 * an output and run, and must not call into this model. */
typedef void* (*BurnishAllocate)(void* allocate_arg, const BurnishTensorInfo* info);

/* An output of one run. The lower fields are set by the library, also when `data` is too small.
 *
 * Where the data (what was found) or the inputs' shapes decide about the shape, burnish_output_info
 * has the greatest one, and memory is wanted for that. After the run `shape` and `size_bytes` are
 * this run's, and the elements lie densely in this shape from `data` on, or by `strides`. An extent
 * may be 0. */
typedef struct BurnishOutput {
  uint32_t struct_size;
  int32_t dtype;           /* A BurnishDtype; 0: any. Set to the model's. */
  const char* name;        /* NULL: the output with this struct's place in the array. */
  void* data;              /* NULL: set to what `allocate` gives; if that is NULL, not wanted. */
  uint64_t capacity_bytes; /* Bytes from `data` on. */
  BurnishAllocate allocate;
  void* allocate_arg;
  const int64_t* strides; /* As an input's, one for each axis of the model's; each element must have
                             a place of its own. */
  uint64_t size_bytes;    /* Set: of the dense tensor. */
  int32_t rank;           /* Set: of this run's shape. */
  int32_t reserved;       /* 0 */
  int64_t shape[BURNISH_RANK_MAX]; /* Set: this run's shape. */
} BurnishOutput;

typedef struct BurnishRunOptions {
  uint32_t struct_size;
  int32_t step_count; /* 0, or burnish_step_count(), with step_ns. */
  int64_t* step_ns;   /* Not NULL: set to the nanoseconds of each step. */
} BurnishRunOptions;

typedef struct BurnishStepInfo {
  uint32_t struct_size;
  int32_t output_count;        /* For burnish_debug_output. */
  const char* name;            /* This and the two below live as long as the model. */
  const char* schedule_origin; /* "tuned", "default", ... */
  const char* workload_id;
  uint64_t flop_count;
  uint64_t moved_bytes;
} BurnishStepInfo;

/* Nanoseconds per inference. */
typedef struct BurnishLatency {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  int64_t run_count;
  int64_t min_ns;
  int64_t median_ns;
  int64_t p90_ns;
  int64_t p99_ns;
  double mean_ns;
} BurnishLatency;

/* Threads for any number of models, which run on them one after the other. `options` may be NULL.
 * On failure *threads is NULL. */
BURNISH_API BurnishStatus burnish_threads_create(const BurnishThreadsOptions* options,
                                                 BurnishThreads** threads);
/* Threads for models that run at the same time: threads[0] to threads[count - 1], `options` for
 * each (NULL: the defaults), with `parallel` and `cpus` NULL. `thread_count` 0: the CPUs shared out
 * evenly, one at least. Where there are CPUs enough, each has some that no other has, and is pinned
 * to them; else, or where the process has more CPUs than its control groups give it time for, the
 * system chooses. On failure all are NULL. */
BURNISH_API BurnishStatus burnish_threads_create_disjoint(const BurnishThreadsOptions* options,
                                                          int32_t count, BurnishThreads** threads);
/* NULL is fine. The threads end when the last model that runs on them is closed. */
BURNISH_API void burnish_threads_release(BurnishThreads* threads);
BURNISH_API int32_t burnish_threads_count(const BurnishThreads* threads);

/* `options` may be NULL. On failure *model is NULL. */
BURNISH_API BurnishStatus burnish_open(const char* path, const BurnishOptions* options,
                                       BurnishModel** model);
/* From memory, which may be freed afterwards. */
BURNISH_API BurnishStatus burnish_open_bytes(const void* bytes, uint64_t size_bytes,
                                             const BurnishOptions* options, BurnishModel** model);
/* NULL is fine. No other call on this model may be under way. */
BURNISH_API void burnish_close(BurnishModel* model);

/* Of a bundle on disk, without loading it: how much parameter_memory it wants. */
BURNISH_API BurnishStatus burnish_parameter_bytes(const char* path, uint64_t* size_bytes);

BURNISH_API const char* burnish_target(const BurnishModel* model); /* What it was compiled for. */
BURNISH_API int32_t burnish_thread_count(const BurnishModel* model);
BURNISH_API int32_t burnish_input_count(const BurnishModel* model);
BURNISH_API int32_t burnish_output_count(const BurnishModel* model);
BURNISH_API BurnishStatus burnish_input_info(const BurnishModel* model, int32_t index,
                                             BurnishTensorInfo* info);
BURNISH_API BurnishStatus burnish_output_info(const BurnishModel* model, int32_t index,
                                              BurnishTensorInfo* info);

/* Parameters that `replacements` of BurnishOptions may name. Some that are folded or packed
 * together have to be replaced together. */
BURNISH_API int32_t burnish_parameter_count(const BurnishModel* model);
BURNISH_API BurnishStatus burnish_parameter_info(const BurnishModel* model, int32_t index,
                                                 BurnishTensorInfo* info);

/* The number of the input (output) with this name, or -1. */
BURNISH_API int32_t burnish_find_input(const BurnishModel* model, const char* name);
BURNISH_API int32_t burnish_find_output(const BurnishModel* model, const char* name);

/* One inference on tensors of the caller, of which nothing is kept: every input of the model once,
 * or not where it has a default, and the outputs that are wanted. All structs of an array have the
 * first one's struct_size. `options` may be NULL.
 *
 * Memory is used in place where it is dense and aligned to the tensor's bind_alignment, and copied
 * else. Outputs may share memory with inputs (all inputs count as read before an output is
 * written), not with each other. After an error while the model runs, the outputs hold anything.
 *
 * Threads may call it on one model at the same time; the runs follow each other. */
BURNISH_API BurnishStatus burnish_run_tensors(BurnishModel* model, const BurnishInput* inputs,
                                              int32_t input_count, BurnishOutput* outputs,
                                              int32_t output_count,
                                              const BurnishRunOptions* options);

/* The functions below work on tensors that stay with the model between calls; burnish_run_tensors
 * leaves their values unspecified.
 *
 * Copies; `size_bytes` must be the tensor's. An input keeps its value until it is set again.
 * Extents that callers decide about are those of the last burnish_run_tensors, or the greatest
 * before it. */
BURNISH_API BurnishStatus burnish_set_input(BurnishModel* model, int32_t index, const void* data,
                                            uint64_t size_bytes);
BURNISH_API BurnishStatus burnish_get_output(BurnishModel* model, int32_t index, void* data,
                                             uint64_t size_bytes);

/* Without copies: from now on burnish_run reads (writes) this memory. NULL ends that. */
BURNISH_API BurnishStatus burnish_bind_input(BurnishModel* model, int32_t index, const void* data,
                                             uint64_t size_bytes);
BURNISH_API BurnishStatus burnish_bind_output(BurnishModel* model, int32_t index, void* data,
                                              uint64_t size_bytes);

/* One inference. */
BURNISH_API BurnishStatus burnish_run(BurnishModel* model);

/* As burnish_output_info, with shape and size_bytes of the last run: other ones where the data
 * decides about the shape. burnish_get_output wants that size, and elements in bound memory lie
 * where those of the greatest shape would. Where several threads run the model, a BurnishOutput of
 * the run itself says which run is meant. */
BURNISH_API BurnishStatus burnish_output_shape(const BurnishModel* model, int32_t index,
                                               BurnishTensorInfo* info);

/* Repeated inferences for about `seconds`, on the inputs as they are. */
BURNISH_API BurnishStatus burnish_benchmark(BurnishModel* model, double seconds,
                                            BurnishLatency* latency);

BURNISH_API int32_t burnish_step_count(const BurnishModel* model);
BURNISH_API BurnishStatus burnish_step_info(const BurnishModel* model, int32_t step,
                                            BurnishStepInfo* info);
/* Median nanoseconds of each step over `run_count` runs; `step_ns` has room for `step_count`, which
 * must be burnish_step_count(). */
BURNISH_API BurnishStatus burnish_profile(BurnishModel* model, int32_t run_count, int64_t* step_ns,
                                          int32_t step_count);

/* Of loops whose end depends on the model's inputs: a run in which one of them goes on after so
 * many iterations ends with BURNISH_RESOURCE_EXHAUSTED and the loop's name. At first 1,000,000. */
BURNISH_API BurnishStatus burnish_set_loop_limit(BurnishModel* model, uint64_t iterations);

/* An intermediate result: runs the model through `step` and copies that step's output; of a step in
 * a loop, its first iteration's. */
BURNISH_API BurnishStatus burnish_debug_output_info(const BurnishModel* model, int32_t step,
                                                    int32_t output, BurnishTensorInfo* info);
BURNISH_API BurnishStatus burnish_debug_output(BurnishModel* model, int32_t step, int32_t output,
                                               void* data, uint64_t size_bytes);

/* What went wrong in this thread's last failed call; "" before the first. Valid until the next. */
BURNISH_API const char* burnish_last_error(void);
BURNISH_API const char* burnish_dtype_name(int32_t dtype); /* "f32", ... */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BURNISH_BURNISH_H_ */

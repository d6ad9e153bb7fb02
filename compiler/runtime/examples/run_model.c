/* Runs a bundle on inputs of small random numbers and prints what comes out and how fast.
 *
 *   cc -std=c99 run_model.c -lburnish -o run_model
 *   ./run_model model.bundle [seconds]
 */
#include <burnish/burnish.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int Fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, burnish_last_error());
  return 1;
}

static void PrintTensor(const char* role, const BurnishTensorInfo* info) {
  printf("%s %s %s[", role, info->name, burnish_dtype_name(info->dtype));
  for (int32_t axis = 0; axis < info->rank; ++axis) {
    printf("%s%lld", axis == 0 ? "" : ",", (long long)info->shape[axis]);
  }
  printf("]\n");
}

/* f32 inputs get values in [-1, 1); all others stay 0, which is a valid index. */
static int SetInput(BurnishModel* model, int32_t index) {
  BurnishTensorInfo info = {.struct_size = sizeof(info)};
  if (burnish_input_info(model, index, &info) != BURNISH_OK) return Fail("input info");
  PrintTensor("input", &info);
  void* data = calloc(1, info.size_bytes > 0 ? info.size_bytes : 1);
  if (data == NULL) return 1;
  if (info.dtype == BURNISH_F32) {
    uint32_t state = 1;
    for (uint64_t i = 0; i < info.size_bytes / sizeof(float); ++i) {
      state = state * 1664525u + 1013904223u;
      ((float*)data)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  const BurnishStatus status = burnish_set_input(model, index, data, info.size_bytes);
  free(data);
  return status == BURNISH_OK ? 0 : Fail("set input");
}

static int PrintOutput(BurnishModel* model, int32_t index) {
  BurnishTensorInfo info = {.struct_size = sizeof(info)};
  if (burnish_output_info(model, index, &info) != BURNISH_OK) return Fail("output info");
  PrintTensor("output", &info);
  void* data = malloc(info.size_bytes > 0 ? info.size_bytes : 1);
  if (data == NULL) return 1;
  int failed = burnish_get_output(model, index, data, info.size_bytes) != BURNISH_OK;
  if (failed) {
    Fail("get output");
  } else if (info.dtype == BURNISH_F32) {
    double sum = 0;
    for (uint64_t i = 0; i < info.size_bytes / sizeof(float); ++i) sum += ((float*)data)[i];
    printf("  sum of its elements %.6g\n", sum);
  }
  free(data);
  return failed;
}

static int Use(BurnishModel* model, double seconds) {
  for (int32_t i = 0; i < burnish_input_count(model); ++i) {
    if (SetInput(model, i) != 0) return 1;
  }
  if (burnish_run(model) != BURNISH_OK) return Fail("run");
  for (int32_t i = 0; i < burnish_output_count(model); ++i) {
    if (PrintOutput(model, i) != 0) return 1;
  }
  BurnishLatency latency = {.struct_size = sizeof(latency)};
  if (burnish_benchmark(model, seconds, &latency) != BURNISH_OK) return Fail("benchmark");
  printf("%d threads: min %.3f, median %.3f, p99 %.3f ms over %lld runs\n",
         (int)burnish_thread_count(model), latency.min_ns * 1e-6, latency.median_ns * 1e-6,
         latency.p99_ns * 1e-6, (long long)latency.run_count);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s model.bundle [seconds]\n", argv[0]);
    return 2;
  }
  BurnishModel* model = NULL;
  if (burnish_open(argv[1], NULL, &model) != BURNISH_OK) return Fail("open");
  const int result = Use(model, argc > 2 ? atof(argv[2]) : 1.0);
  burnish_close(model);
  return result;
}

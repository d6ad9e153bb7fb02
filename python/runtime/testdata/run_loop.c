/* What ./dev bench python_calls compares with: the same call from C, many times. */
#include <burnish/burnish.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of this thread's CPU time that `times` runs take, or -1; `model` is a BurnishModel of
 * one input and output, f32[2,3]. */
int64_t run_loop(void* model, const void* x, void* y, int64_t times) {
  struct timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (int64_t i = 0; i < times; ++i) {
    const int64_t shape[] = {2, 3};
    BurnishInput input = {
        .struct_size = sizeof(input), .dtype = BURNISH_F32, .data = x, .shape = shape, .rank = 2};
    BurnishOutput output = {.struct_size = sizeof(output), .data = y, .capacity_bytes = 24};
    if (burnish_run_tensors(model, &input, 1, &output, 1, NULL) != BURNISH_OK) return -1;
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return (int64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (end.tv_nsec - begin.tv_nsec);
}

/* One thread; NULL on failure. */
void* open_model(const char* path) {
  BurnishOptions options = {.struct_size = sizeof(options), .thread_count = 1};
  BurnishModel* model = NULL;
  burnish_open(path, &options, &model);
  return model;
}

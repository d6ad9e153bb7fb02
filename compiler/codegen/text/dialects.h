// What the words of a launch's text mean in each language that devices have. The text behind is the
// same for all (launch_text.h): functions of c_helpers.h, loops, and these names. C has words of
// its own in c_helpers.h, where kernels are functions of the kernel ABI.
#ifndef COMPILER_CODEGEN_TEXT_DIALECTS_H_
#define COMPILER_CODEGEN_TEXT_DIALECTS_H_

namespace burnish {

// OpenCL C 1.2 with doubles.
inline constexpr char kOpenClDialect[] = R"(#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef float f32;
typedef double f64;
typedef ushort bf16, f16;
typedef long i64;
typedef int i32;
typedef short i16;
typedef char i8;
typedef ulong u64;
typedef uint u32;
typedef ushort u16;
typedef uchar u8, b8;
#define FUNCTION static
#define CONSTANT __constant
#define INF ((f64)INFINITY)
#define abs_f32 fabs
#define abs_f64 fabs
#define copysign_f64 copysign
#define sqrt_f32 sqrt
#define sqrt_f64 sqrt
#define KERNEL(name, x, y, z) __kernel __attribute__((reqd_work_group_size(x, y, z))) void name
#define GLOBAL __global
#define SHARED(type, name, count, offset) __local type name[count]
#define PLACES
#define BLOCK_X ((i64)get_group_id(0))
#define BLOCK_Y ((i64)get_group_id(1))
#define BLOCK_Z ((i64)get_group_id(2))
#define THREAD_X ((i64)get_local_id(0))
#define THREAD_Y ((i64)get_local_id(1))
#define THREAD_Z ((i64)get_local_id(2))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define UNROLL
)";

// CUDA C++ as NVRTC takes it, without a header; behind kCTypes.
inline constexpr char kCudaDialect[] = R"(#define FUNCTION static __device__ inline
#define CONSTANT static __device__ const
#define INF __longlong_as_double(0x7ff0000000000000)
#define NAN __longlong_as_double(0x7ff8000000000000)
#define abs_f32 fabsf
#define abs_f64 fabs
#define copysign_f64 copysign
#define sqrt_f32 sqrtf
#define sqrt_f64 sqrt
#define KERNEL(name, x, y, z) extern "C" __global__ void __launch_bounds__((x) * (y) * (z)) name
#define GLOBAL
#define SHARED(type, name, count, offset) __shared__ __align__(16) type name[count]
#define PLACES
#define BLOCK_X ((i64)blockIdx.x)
#define BLOCK_Y ((i64)blockIdx.y)
#define BLOCK_Z ((i64)blockIdx.z)
#define THREAD_X ((i64)threadIdx.x)
#define THREAD_Y ((i64)threadIdx.y)
#define THREAD_Z ((i64)threadIdx.z)
#define BARRIER __syncthreads()
#define UNROLL _Pragma("unroll")
)";

// C behind c_helpers.h's types and words, for one thread at a time: who calls a kernel says which
// one it is, where its block's shared memory lies, and how it waits for the others (emulator.h).
inline constexpr char kEmulatedDialect[] = R"(typedef struct Emulation Emulation;
struct Emulation {
  i64 places[6];
  u8* shared;
  void (*barrier)(const Emulation*);
};
#define KERNEL(name, x, y, z) void name
#define GLOBAL
#define SHARED(type, name, count, offset) type* const name = (type*)(here->shared + (offset))
#define PLACES , const Emulation* here
#define BLOCK_X here->places[0]
#define BLOCK_Y here->places[1]
#define BLOCK_Z here->places[2]
#define THREAD_X here->places[3]
#define THREAD_Y here->places[4]
#define THREAD_Z here->places[5]
#define BARRIER here->barrier(here)
#define UNROLL
)";

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_DIALECTS_H_

// What every backend owes: compiled code computes what the interpreter computes, on every
// instruction set that the backend makes code for. All of them are compiled for; those that this
// host has are run.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "compiler/codegen/backend.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/codegen/text/emulator.h"
#include "compiler/codegen/text/launch_runner.h"
#include "compiler/codegen/text/launch_text.h"
#include "compiler/codegen/text/text_backend.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Isa {
  std::string name;
  std::vector<std::string> features;
  int lanes;  // Of a float vector.
  std::unique_ptr<Backend> (*make)() = [] { return MakeLlvmBackend(); };
  // Where it prints launches: what they run on.
  std::function<absl::StatusOr<std::unique_ptr<LaunchDevice>>(const LaunchText&)> device = nullptr;
};

const std::vector<std::string>& Sse42() {
  static const std::vector<std::string>* const features = new std::vector<std::string>{
      "cx16", "popcnt", "sahf", "sse", "sse2", "sse3", "ssse3", "sse4.1", "sse4.2"};
  return *features;
}

std::vector<std::string> Plus(std::vector<std::string> features,
                              const std::vector<std::string>& more) {
  features.insert(features.end(), more.begin(), more.end());
  return features;
}

std::vector<Isa> Isas() {
  const std::vector<std::string> avx = Plus(Sse42(), {"avx"});
  const std::vector<std::string> avx2 =
      Plus(avx, {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"});
  const std::vector<std::string> avx512 =
      Plus(avx2, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  return {{"sse42", Sse42(), 4},
          {"avx", avx, 8},
          {"avx2", avx2, 8},
          {"avx512", avx512, 16},
          {"avx512bf16", Plus(avx512, {"avx512bf16"}), 16}};
}

// The text backend makes one code for all.
Isa Text() { return {.name = "c", .features = Sse42(), .lanes = 4, .make = &MakeTextBackend}; }

// Programs without threads run on one thread of a device.
Isa Emulated() {
  Isa isa = Text();
  isa.name = "emulated";
  isa.device = [](const LaunchText& text) { return MakeEmulator(text, ThreadOrder::kForward); };
  return isa;
}

class BackendConformanceTest : public ::testing::TestWithParam<Isa> {
 protected:
  int lanes() const { return GetParam().lanes; }
  CodegenTarget target() const { return {.features = GetParam().features}; }

  bool HostRuns() const {
    const CpuInfo cpu = HostCpuInfo();
    for (const std::string& feature : GetParam().features) {
      if (!cpu.Has(feature)) return false;
    }
    return true;
  }

  // Compiles, and where the host can runs with 1 to 3 workers and compares with the interpreter.
  // Floats differ by at most `tolerance` times the magnitude of what was added up.
  void Check(const Program& program, const std::vector<TensorValue>& arguments,
             double tolerance = 4e-7) {
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want,
                         Interpret(program, arguments, {.magnitudes = true}));
    const auto expect_near = [&](const std::vector<TensorValue>& got) {
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) ExpectNear(got[i], want[i], tolerance);
    };
    if (GetParam().device != nullptr) {
      ASSERT_OK_AND_ASSIGN(const auto got, Launched(program, arguments));
      return expect_near(got);
    }
    ASSERT_OK_AND_ASSIGN(CompiledModule module,
                         backend_->Compile(target(), {{.program = &program}}));
    if (!HostRuns()) GTEST_SKIP() << "compiled, not run: the CPU lacks features";
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    for (int workers : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << workers << " workers");
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                           runner.Run(program, arguments, workers));
      expect_near(got);
    }
  }

  absl::StatusOr<LaunchText> Printed(const Program& program) const {
    return PrintLaunches({.program = &program}, TextDialect::kEmulated);
  }

  absl::StatusOr<std::vector<TensorValue>> Launched(
      const Program& program, const std::vector<TensorValue>& arguments) const {
    ASSIGN_OR_RETURN(const LaunchText text, Printed(program));
    ASSIGN_OR_RETURN(const auto device, GetParam().device(text));
    return RunLaunches(program, text, arguments, *device);
  }

  absl::Status RunStatus(const Program& program, const std::vector<TensorValue>& arguments) {
    if (GetParam().device != nullptr) return Launched(program, arguments).status();
    auto module = backend_->Compile(target(), {{.program = &program}});
    if (!module.ok()) return module.status();
    auto runner = KernelRunner::Load(std::move(*module));
    if (!runner.ok()) return runner.status();
    return runner->Run(program, arguments, 2).status();
  }

  absl::Status CompileStatus(const Program& program) {
    if (GetParam().device != nullptr) return Printed(program).status();
    return backend_->Compile(target(), {{.program = &program}}).status();
  }

  static void ExpectNear(const TensorValue& got, const TensorValue& want, double tolerance) {
    EXPECT_EQ(got.integers, want.integers);
    ASSERT_EQ(got.floats.size(), want.floats.size());
    int shown = 0;
    for (size_t i = 0; i < want.floats.size() && shown < 5; ++i) {
      const double g = got.floats[i], w = want.floats[i];
      const bool same = (std::isnan(g) && std::isnan(w)) || g == w;
      const double allowed = tolerance * std::max(std::abs(w), want.magnitudes[i]);
      if (same || std::abs(g - w) <= allowed) continue;
      ++shown;
      ADD_FAILURE() << "element " << i << ": got " << g << ", want " << w << " +- " << allowed;
    }
  }

  TensorValue Random(std::vector<int64_t> shape, DType dtype = DType::kF32) {
    TensorValue value{.dtype = dtype, .shape = shape};
    for (int64_t i = 0; i < ElementCount(shape); ++i) {
      if (IsFloat(dtype)) {
        value.floats.push_back(static_cast<double>(static_cast<float>(rng_.Normal())));
      } else {
        // Of u64 both halves: the upper one is negative here.
        value.integers.push_back(dtype == DType::kBool ? rng_.Between(0, 1)
                                 : IsUnsigned(dtype) && dtype != DType::kU64
                                     ? rng_.Between(0, 255)
                                     : rng_.Between(-128, 127));
      }
    }
    return value;
  }

  static TensorValue Floats(std::vector<double> values) {
    const auto size = static_cast<int64_t>(values.size());
    return {.shape = {size}, .floats = std::move(values)};
  }
  static TensorValue Integers(std::vector<int64_t> values, DType dtype = DType::kI64) {
    const auto size = static_cast<int64_t>(values.size());
    return {.dtype = dtype, .shape = {size}, .integers = std::move(values)};
  }

  // out[i] = value(i), vectorized, of as many elements as a prime makes awkward.
  Program Elementwise(DType out_type, const std::vector<TensorValue>& inputs,
                      const std::function<Expr(ProgramWriter&, Expr)>& value) {
    ProgramWriter w("elementwise");
    const int64_t size = inputs[0].shape[0];
    for (size_t i = 0; i < inputs.size(); ++i) {
      w.Add(std::string(1, static_cast<char>('A' + i)), inputs[i].shape, BufferRole::kInput,
            inputs[i].dtype);
    }
    const BufferId out = w.Add("out", {size}, BufferRole::kOutput, out_type);
    w.Loop(LoopKind::kVectorized, size, [&](Expr i) { w.Store(out, {i}, value(w, i)); }, lanes());
    return std::move(w.program());
  }

  std::unique_ptr<Backend> backend_ = GetParam().make();
  Rng rng_{1};
};

TEST_P(BackendConformanceTest, RegisterTilesOfOddShapes) {
  for (const bool rows_inside : {false, true}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{6, 16}, {5, 13}, {1, 7}, {3, 35}}) {
      const GemmTile tile{.rows = rows,
                          .columns = columns,
                          .lanes = lanes(),
                          .depth = 33,
                          .depth_unroll = 3,
                          .row_tiles = 2,
                          .column_tiles = 3,
                          .rows_inside = rows_inside};
      SCOPED_TRACE(testing::Message() << rows << " x " << columns);
      Check(GemmTileProgram(tile), {Random({rows * 2, 33}), Random({3, 33, columns})});
    }
  }
}

// Sums in an array of one row, in vectors of up to 64: what is left may be a vector twice as long.
TEST_P(BackendConformanceTest, RegisterRowsThatEndWithinAVector) {
  for (const int64_t columns : {7, 27, 33, 37, 64}) {
    for (const int width : {lanes(), 64}) {
      SCOPED_TRACE(testing::Message() << columns << " by " << width);
      ProgramWriter w("row");
      const BufferId x = w.Add("X", {5, columns}, BufferRole::kInput);
      const BufferId y = w.Add("Y", {columns}, BufferRole::kOutput);
      const BufferId sums =
          w.Add("sums", {columns}, BufferRole::kTemp, DType::kF32, Scope::kRegister);
      const auto each = [&](const std::function<void(Expr)>& body) {
        w.Loop(LoopKind::kVectorized, columns, body, width);
      };
      w.Loop(LoopKind::kParallel, 1, [&](Expr) {
        each([&](Expr c) { w.Store(sums, {c}, Float(0)); });
        w.Loop(LoopKind::kSerial, 5, [&](Expr r) {
          each([&](Expr c) { w.Store(sums, {c}, w.At(x, {r, c}), Combiner::kSum); });
        });
        each([&](Expr c) { w.Store(y, {c}, w.At(sums, {c})); });
      });
      Check(w.program(), {Random({5, columns})});
    }
  }
}

TEST_P(BackendConformanceTest, SerialNestWithoutRegistersAccumulatesInTheOutput) {
  ProgramWriter w("naive");
  const BufferId a = w.Add("A", {7, 11}, BufferRole::kInput);
  const BufferId b = w.Add("B", {11, 5}, BufferRole::kInput);
  const BufferId c = w.Add("C", {7, 5}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, 7, [&](Expr m) {
    w.Loop(LoopKind::kSerial, 5, [&](Expr n) {
      w.Store(c, {m, n}, Float(0));
      w.Loop(LoopKind::kSerial, 11, [&](Expr k) {
        w.Store(c, {m, n}, w.At(a, {m, k}) * w.At(b, {k, n}), Combiner::kSum);
      });
    });
  });
  Check(w.program(), {Random({7, 11}), Random({11, 5})});
}

TEST_P(BackendConformanceTest, PaddingByConditionReadsNothingOutside) {
  // A guard page follows each buffer: a read outside is a crash.
  ProgramWriter w("pad");
  const BufferId x = w.Add("X", {9, 13}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {11, 17}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, 11, [&](Expr i) {
    w.Loop(
        LoopKind::kVectorized, 17,
        [&](Expr j) {
          const Expr inside =
              And(And(Le(Int(1), i), Lt(i, Int(10))), And(Le(Int(2), j), Lt(j, Int(15))));
          w.Store(y, {i, j}, Select(inside, w.At(x, {i - 1, j - 2}), Float(7)));
        },
        lanes());
  });
  Check(w.program(), {Random({9, 13})});
}

TEST_P(BackendConformanceTest, BorderOfStorageIsRead) {
  ProgramWriter w("border");
  const BufferId x = w.Add("X", {5, 6}, BufferRole::kInput);
  w.program().buffers[x].storage = DenseStorage({5, 6}, {{1, 2}, {2, 1}}, -3);
  const BufferId y = w.Add("Y", {8, 9}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, 8, [&](Expr i) {
    w.Loop(
        LoopKind::kVectorized, 9, [&](Expr j) { w.Store(y, {i, j}, w.At(x, {i - 1, j - 2})); },
        lanes());
  });
  Check(w.program(), {Random({5, 6})});
}

TEST_P(BackendConformanceTest, StridedAndTransposedAccess) {
  ProgramWriter w("transpose");
  const BufferId x = w.Add("X", {21, 19}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {19, 21}, BufferRole::kOutput);
  const BufferId z = w.Add("Z", {10}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, 19, [&](Expr j) {
    w.Loop(
        LoopKind::kVectorized, 21, [&](Expr i) { w.Store(y, {j, i}, w.At(x, {i, j})); }, lanes());
  });
  w.Loop(
      LoopKind::kVectorized, 19, [&](Expr j) { w.Store(y, {j, Int(3)}, w.At(x, {Int(2), j})); },
      lanes());
  // Every third element, and a division that no vector load can follow.
  w.Loop(
      LoopKind::kVectorized, 10,
      [&](Expr i) { w.Store(z, {i}, w.At(x, {FloorDiv(i, 3), i * 2 - i}) + w.At(x, {i, Int(0)})); },
      lanes());
  Check(w.program(), {Random({21, 19})});
}

// Y[j, i] = X[i, j], with columns written out: squares of lanes are turned in registers, of the
// rest lanes are loaded one by one. The last row ends with the buffer.
TEST_P(BackendConformanceTest, ColumnsThatAreWrittenOutOfEveryType) {
  for (const int square : {2, 4, 8, 16}) {
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBf16, DType::kI64, DType::kU8, DType::kBool}) {
      SCOPED_TRACE(testing::Message() << square << " lanes of " << DTypeName(dtype));
      const int64_t rows = 2 * square + 3, columns = 5 * square + 1;
      ProgramWriter w("squares");
      const BufferId x = w.Add("X", {rows, columns}, BufferRole::kInput, dtype);
      const BufferId y = w.Add("Y", {columns, rows}, BufferRole::kOutput, dtype);
      const auto write = [&](const Expr& first, int64_t count) {
        w.Loop(LoopKind::kUnrolled, count, [&](Expr j) {
          w.Loop(
              LoopKind::kVectorized, rows,
              [&](Expr i) { w.Store(y, {first + j, i}, w.At(x, {i, first + j})); }, square);
        });
      };
      w.Loop(LoopKind::kSerial, 2, [&](Expr jo) { write(jo * (2 * square), 2 * square); });
      write(Int(4 * square), square + 1);
      Check(w.program(), {Random({rows, columns}, dtype)});
    }
  }
}

// Of the columns that are written out some lie behind the buffer's end: nobody may read them.
TEST_P(BackendConformanceTest, ColumnsUnderAConditionReadNothingOutside) {
  ProgramWriter w("condition");
  const BufferId x = w.Add("X", {8, 20}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {24, 8}, BufferRole::kOutput);
  const BufferId z = w.Add("Z", {24, 8}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, 3, [&](Expr jo) {
    w.Loop(LoopKind::kUnrolled, 8, [&](Expr j) {
      const Expr column = jo * 8 + j;
      w.Loop(
          LoopKind::kVectorized, 8,
          [&](Expr i) {
            w.Store(y, {column, i}, Select(Lt(column, Int(20)), w.At(x, {i, column}), Float(0)));
          },
          lanes());
      w.If(Lt(column, Int(20)), [&] {
        w.Loop(
            LoopKind::kVectorized, 8,
            [&](Expr i) { w.Store(z, {column, i}, w.At(x, {i, column})); }, lanes());
      });
    });
  });
  w.Loop(LoopKind::kSerial, 4, [&](Expr j) {
    w.Loop(LoopKind::kVectorized, 8, [&](Expr i) { w.Store(z, {j + 20, i}, Float(1)); }, lanes());
  });
  Check(w.program(), {Random({8, 20})});
}

// Y[i * rows + r] = X[r, i]: lanes that lie in a few runs, of which the last end with the buffer.
TEST_P(BackendConformanceTest, InterleavedRowsOfEveryType) {
  for (const int64_t rows : {2, 3, 4, 7}) {
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBf16, DType::kI64, DType::kU8, DType::kBool}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << DTypeName(dtype));
      const int64_t width = rows * lanes(), columns = 2 * lanes() + 3;
      ProgramWriter w("interleave");
      const BufferId x = w.Add("X", {rows, columns}, BufferRole::kInput, dtype);
      const BufferId y = w.Add("Y", {columns * rows}, BufferRole::kOutput, dtype);
      const auto at = [&](const Expr& j) {
        w.Store(y, {j}, w.At(x, {Mod(j, rows), FloorDiv(j, rows)}));
      };
      w.Loop(LoopKind::kSerial, 2, [&](Expr jo) {
        w.Loop(LoopKind::kVectorized, width, [&](Expr ji) { at(jo * width + ji); }, lanes());
      });
      // The rest in vectors of ever fewer lanes.
      w.Loop(LoopKind::kVectorized, 3 * rows, [&](Expr ji) { at(ji + 2 * width); }, lanes());
      Check(w.program(), {Random({rows, columns}, dtype)});
    }
  }
}

// Lanes by steps, of which the first and the last lie at the buffer's ends; and the same where one
// lane in three is off, the outermost ones read beyond those ends if nobody looks.
TEST_P(BackendConformanceTest, StepsForwardsAndBackwardsOfEveryType) {
  for (const int64_t step : {2, 3, 4, 8, 9, -1, -2, -4}) {
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBf16, DType::kI64, DType::kU8, DType::kBool}) {
      SCOPED_TRACE(testing::Message() << "step " << step << " of " << DTypeName(dtype));
      const int64_t count = 11 * lanes() + lanes() / 2 + 1;  // A loop, single vectors, and a rest.
      const int64_t length = (count - 1) * std::abs(step) + 1;
      const auto place = [&](const Expr& j) {
        return step > 0 ? j * step : Int(length - 1) - j * -step;
      };
      ProgramWriter w("steps");
      const BufferId x = w.Add("X", {length}, BufferRole::kInput, dtype);
      const BufferId y = w.Add("Y", {count}, BufferRole::kOutput, dtype);
      const BufferId z = w.Add("Z", {count}, BufferRole::kOutput, dtype);
      w.Loop(
          LoopKind::kVectorized, count, [&](Expr j) { w.Store(y, {j}, w.At(x, {place(j)})); },
          lanes());
      // Two steps earlier, which is outside for the first two lanes and for a third of the others.
      w.Loop(
          LoopKind::kVectorized, count,
          [&](Expr j) {
            const Expr on = And(Le(Int(2), j), Lt(Mod(j, 3), Int(2)));
            const Expr zero =
                IsFloat(dtype) || IsStorageFloat(dtype) ? Float(0, dtype) : Int(0, dtype);
            w.Store(z, {j}, Select(on, w.At(x, {place(j - 2)}), zero));
          },
          lanes());
      Check(w.program(), {Random({length}, dtype)});
    }
  }
}

// Rows with padding by conditions, mirrored rows, and windows by twos: loops that are cut where all
// lanes are inside, dealt out to workers too.
TEST_P(BackendConformanceTest, LoopsOverPaddedRows) {
  for (const LoopKind kind : {LoopKind::kSerial, LoopKind::kParallel}) {
    for (const int64_t width : {3, 40, 175}) {
      SCOPED_TRACE(testing::Message() << width << " wide");
      const int64_t chunks = 16, out = chunks * lanes();
      ProgramWriter w("padded");
      const BufferId x = w.Add("X", {width}, BufferRole::kInput);
      const BufferId y = w.Add("Y", {out}, BufferRole::kOutput);
      const BufferId z = w.Add("Z", {out}, BufferRole::kOutput);
      const auto inside = [&](const Expr& place) {
        return And(Le(Int(0), place), Lt(place, Int(width)));
      };
      w.Loop(kind, chunks, [&](Expr c) {
        w.Loop(
            LoopKind::kVectorized, lanes(),
            [&](Expr v) {
              const Expr j = c * lanes() + v;
              const Expr near = j * 2 - 7;
              w.Store(y, {j}, Select(inside(near), w.At(x, {near}), Float(-1)));
              const Expr far = j - 21;
              const Expr mirrored = Select(Lt(far, Int(0)), Int(0) - far, far);
              w.Store(z, {j}, Select(inside(mirrored), w.At(x, {mirrored}), Float(-2)));
            },
            lanes());
      });
      Check(w.program(), {Random({width})});
    }
  }
}

TEST_P(BackendConformanceTest, LanesThatShareElementsInTurn) {
  ProgramWriter w("repeat");
  const BufferId x = w.Add("X", {40}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {64}, BufferRole::kOutput);
  w.Loop(
      LoopKind::kVectorized, 64,
      [&](Expr i) { w.Store(y, {i}, w.At(x, {FloorDiv(i, 4)}) + w.At(x, {Mod(i, 8) + 32})); },
      lanes());
  Check(w.program(), {Random({40})});
}

TEST_P(BackendConformanceTest, LongVectorLoopStaysALoop) {
  const TensorValue a = Random({1003});
  Check(Elementwise(DType::kF32, {a, a},
                    [](ProgramWriter& w, Expr i) {
                      return w.At(0, {i}) * w.At(1, {Int(1002) - i}) + Cast(DType::kF32, i);
                    }),
        {a, Random({1003})});
}

TEST_P(BackendConformanceTest, PhasesExchangeDataThroughSharedScratch) {
  ProgramWriter w("phases");
  const BufferId x = w.Add("X", {37}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {37}, BufferRole::kOutput);
  const BufferId t = w.Add("T", {37}, BufferRole::kTemp);
  const BufferId sum = w.Add("S", {1}, BufferRole::kTemp);
  const BufferId mine = w.Add("M", {37}, BufferRole::kTemp, DType::kF32, Scope::kScratch);
  w.Loop(LoopKind::kParallel, 37, [&](Expr i) {
    w.Store(mine, {i}, w.At(x, {i}) + Float(1));
    w.Store(t, {i}, w.At(mine, {i}) * Float(2));
  });
  w.Store(sum, {Int(0)}, Float(0));
  w.Loop(LoopKind::kSerial, 37,
         [&](Expr i) { w.Store(sum, {Int(0)}, w.At(t, {i}), Combiner::kSum); });
  w.Loop(LoopKind::kParallel, 37,
         [&](Expr i) { w.Store(y, {i}, w.At(t, {Int(36) - i}) + w.At(sum, {Int(0)})); });
  Check(w.program(), {Random({37})});
}

TEST_P(BackendConformanceTest, PackedWeightsAndPrefetches) {
  ProgramWriter w("packed");
  const BufferId x = w.Add("X", {24}, BufferRole::kInput);
  const BufferId c = w.Add("W", {24, 20}, BufferRole::kConstant);
  const BufferId p = w.Add("P", {20, 24}, BufferRole::kPacked);
  const BufferId y = w.Add("Y", {20}, BufferRole::kOutput);
  w.Loop(LoopKind::kParallel, 20, [&](Expr n) {
    w.Store(y, {n}, Float(0));
    w.Loop(LoopKind::kSerial, 24, [&](Expr k) {
      // Past the end in the last row: allowed, a prefetch never faults.
      w.Prefetch(p, {n + 1, k}, Eq(Mod(k, 16), Int(0)));
      w.Store(y, {n}, w.At(x, {k}) * w.At(p, {n, k}), Combiner::kSum);
    });
  });
  w.BeginPack();
  w.Loop(LoopKind::kParallel, 24, [&](Expr k) {
    w.Loop(LoopKind::kSerial, 20, [&](Expr n) { w.Store(p, {n, k}, w.At(c, {k, n})); });
  });
  Check(w.program(), {Random({24}), Random({24, 20})});
}

TEST_P(BackendConformanceTest, RaggedExtentsAndBranchesByTable) {
  const auto sizes = std::make_shared<ConstTable>(ConstTable{.shape = {4}, .values = {3, 0, 5, 1}});
  const auto starts =
      std::make_shared<ConstTable>(ConstTable{.shape = {4}, .values = {0, 3, 3, 8}});
  ProgramWriter w("ragged");
  const BufferId x = w.Add("X", {9}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {9}, BufferRole::kOutput);
  w.Loop(LoopKind::kParallel, 4, [&](Expr t) {
    w.Loop(LoopKind::kSerial, TableLoad(sizes, {t}), [&](Expr i) {
      const Expr at = TableLoad(starts, {t}) + i;
      w.If(
          Eq(Mod(at, 2), Int(0)), [&] { w.Store(y, {at}, w.At(x, {at})); },
          [&] { w.Store(y, {at}, w.At(x, {at}) * Float(-1)); });
    });
  });
  Check(w.program(), {Random({9})});
}

TEST_P(BackendConformanceTest, BranchThatDiffersBetweenLanes) {
  ProgramWriter w("lanes");
  const BufferId x = w.Add("X", {23}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {23}, BufferRole::kOutput);
  w.Loop(
      LoopKind::kVectorized, 23,
      [&](Expr i) {
        w.Store(y, {i}, Float(5));
        w.If(Lt(w.At(x, {i}), Float(0)), [&] { w.Store(y, {i}, w.At(x, {i})); });
      },
      lanes());
  Check(w.program(), {Random({23})});
}

TEST_P(BackendConformanceTest, ReductionsOfEveryCombiner) {
  for (const DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64}) {
    for (const Combiner combiner :
         {Combiner::kSum, Combiner::kProd, Combiner::kMax, Combiner::kMin}) {
      ProgramWriter w("reduce");
      const BufferId x = w.Add("X", {6, 19}, BufferRole::kInput, type);
      const BufferId y = w.Add("Y", {2, 19}, BufferRole::kOutput, type);
      const BufferId acc = w.Add("acc", {19}, BufferRole::kTemp, type, Scope::kRegister);
      const auto each = [&](const std::function<void(Expr)>& body) {
        w.Loop(LoopKind::kVectorized, 19, body, lanes());
      };
      w.Loop(LoopKind::kParallel, 2, [&](Expr half) {
        each([&](Expr i) { w.Store(acc, {i}, Identity(combiner, type)); });
        w.Loop(LoopKind::kSerial, 3, [&](Expr k) {
          each([&](Expr i) { w.Store(acc, {i}, w.At(x, {half * 3 + k, i}), combiner); });
        });
        each([&](Expr i) { w.Store(y, {half, i}, w.At(acc, {i})); });
      });
      SCOPED_TRACE(testing::Message()
                   << DTypeName(type) << " combiner " << static_cast<int>(combiner));
      TensorValue values = Random({6, 19}, type);
      // Products of 3 must fit 32 bits.
      for (int64_t& value : values.integers) value %= 30;
      Check(w.program(), {values});
    }
  }
}

// Aligned vectors bypass the caches, the rest and other strides do not; the reader waits for them.
TEST_P(BackendConformanceTest, StreamedOutputs) {
  for (const int64_t row : {4 * lanes(), 4 * lanes() + 3}) {
    ProgramWriter w("stream");
    const BufferId x = w.Add("X", {7, row}, BufferRole::kInput);
    const BufferId y = w.Add("Y", {7, row}, BufferRole::kOutput);
    w.program().buffers[y].streamed = true;
    w.Loop(LoopKind::kParallel, 7, [&](Expr i) {
      w.Loop(
          LoopKind::kVectorized, row,
          [&](Expr j) { w.Store(y, {i, j}, w.At(x, {i, j}) * Float(2)); }, lanes());
    });
    Check(w.program(), {Random({7, row})});
  }
}

TEST_P(BackendConformanceTest, VectorizedReductionGoesAsATree) {
  ProgramWriter w("dot");
  const BufferId x = w.Add("X", {21}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {1}, BufferRole::kOutput);
  w.Store(y, {Int(0)}, Float(0));
  w.Loop(
      LoopKind::kVectorized, 21,
      [&](Expr i) { w.Store(y, {Int(0)}, w.At(x, {i}) * w.At(x, {i}), Combiner::kSum); }, lanes());
  Check(w.program(), {Random({21})});
}

TEST_P(BackendConformanceTest, MinAndMaxCarryNan) {
  const TensorValue a = Floats({1, kNan, 2, kNan, -kInfinity, 3, 0, -5, kInfinity, 2, 2});
  const TensorValue b = Floats({kNan, 1, 3, kNan, kNan, -1, kInfinity, -6, 1, 2, kNan});
  for (const ExprKind kind : {ExprKind::kMin, ExprKind::kMax}) {
    Check(Elementwise(
              DType::kF32, {a, b},
              [&](ProgramWriter& w, Expr i) { return Binary(kind, w.At(0, {i}), w.At(1, {i})); }),
          {a, b});
    // ReLU and its like: one operand is a constant.
    Check(Elementwise(DType::kF32, {a},
                      [&](ProgramWriter& w, Expr i) {
                        return Binary(kind, Float(1), Binary(kind, w.At(0, {i}), Float(0)));
                      }),
          {a});
  }
}

TEST_P(BackendConformanceTest, FloatOperations) {
  const TensorValue a = Floats({0.5, -0.5, 1.5, 2.5, -2.5, 0, -7.25, 1e6, kInfinity, kNan, 4});
  const TensorValue b = Floats({2, 3, -1, 2, 2.5, 1, 0.5, 3, 2, 1, kInfinity});
  for (const ExprKind kind : {ExprKind::kNeg, ExprKind::kAbs, ExprKind::kSqrt, ExprKind::kFloor,
                              ExprKind::kCeil, ExprKind::kRound, ExprKind::kSign}) {
    SCOPED_TRACE(static_cast<int>(kind));
    Check(Elementwise(DType::kF32, {a},
                      [&](ProgramWriter& w, Expr i) { return Unary(kind, w.At(0, {i})); }),
          {a});
  }
  for (const ExprKind kind : {ExprKind::kAdd, ExprKind::kSub, ExprKind::kMul, ExprKind::kDiv}) {
    SCOPED_TRACE(static_cast<int>(kind));
    Check(Elementwise(
              DType::kF32, {a, b},
              [&](ProgramWriter& w, Expr i) { return Binary(kind, w.At(0, {i}), w.At(1, {i})); }),
          {a, b});
  }
  for (const ExprKind kind : {ExprKind::kLt, ExprKind::kLe, ExprKind::kEq, ExprKind::kNe}) {
    SCOPED_TRACE(static_cast<int>(kind));
    Check(Elementwise(
              DType::kBool, {a, b},
              [&](ProgramWriter& w, Expr i) { return Binary(kind, w.At(0, {i}), w.At(1, {i})); }),
          {a, b});
  }
  Check(Elementwise(DType::kBool, {a},
                    [&](ProgramWriter& w, Expr i) {
                      return Unary(ExprKind::kNot, Unary(ExprKind::kIsNan, w.At(0, {i})));
                    }),
        {a});
}

TEST_P(BackendConformanceTest, IntegerOperationsOfEveryType) {
  for (const DType type : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU64,
                           DType::kU32, DType::kU16, DType::kU8}) {
    TensorValue a = Random({37}, type), b = Random({37}, type);
    for (int64_t& value : b.integers) value = value == 0 ? 3 : value;
    for (const ExprKind kind :
         {ExprKind::kAdd, ExprKind::kSub, ExprKind::kMul, ExprKind::kDiv, ExprKind::kFloorDiv,
          ExprKind::kMod, ExprKind::kMin, ExprKind::kMax}) {
      SCOPED_TRACE(testing::Message() << DTypeName(type) << " " << static_cast<int>(kind));
      Check(Elementwise(
                type, {a, b},
                [&](ProgramWriter& w, Expr i) { return Binary(kind, w.At(0, {i}), w.At(1, {i})); }),
            {a, b});
    }
    for (const ExprKind kind : {ExprKind::kLt, ExprKind::kLe, ExprKind::kEq, ExprKind::kNe}) {
      Check(Elementwise(
                DType::kBool, {a, b},
                [&](ProgramWriter& w, Expr i) { return Binary(kind, w.At(0, {i}), w.At(1, {i})); }),
            {a, b});
    }
    for (const ExprKind kind : {ExprKind::kAbs, ExprKind::kSign, ExprKind::kNeg}) {
      if (IsUnsigned(type) && kind == ExprKind::kNeg) continue;
      Check(Elementwise(type, {a},
                        [&](ProgramWriter& w, Expr i) { return Unary(kind, w.At(0, {i})); }),
            {a});
    }
  }
}

TEST_P(BackendConformanceTest, CastsBetweenAllTypes) {
  const std::vector<DType> types = {
      DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kI64, DType::kI32, DType::kI16,
      DType::kI8,  DType::kU64, DType::kU32,  DType::kU16, DType::kU8,  DType::kBool};
  for (const DType from : types) {
    for (const DType to : types) {
      TensorValue a = Random({19}, from);
      // Within every type's range.
      for (int64_t& value : a.integers)
        value = from == DType::kBool ? value : std::abs(value) % 100;
      for (double& value : a.floats)
        value = static_cast<double>(static_cast<float>(std::abs(value) * 40));
      SCOPED_TRACE(testing::Message() << DTypeName(from) << " to " << DTypeName(to));
      Check(Elementwise(to, {a}, [&](ProgramWriter& w, Expr i) { return Cast(to, w.At(0, {i})); }),
            {a});
    }
  }
}

// Storage types hold what base/small_float.h says, whatever the lanes are: all numbers widened,
// and f32 rounded to them at, below and above each tie. The float mode of kernels takes subnormal
// numbers of f32 for 0, and so the narrowing instruction of bfloat16 does.
TEST_P(BackendConformanceTest, StorageTypesOfEveryNumber) {
  for (const DType type : {DType::kBf16, DType::kF16}) {
    SCOPED_TRACE(DTypeName(type));
    std::vector<double> numbers, near_ties;
    for (int bits = 0; bits < 1 << 16; ++bits) {
      Bfloat16 b;
      Float16 h;
      b.bits = h.bits = static_cast<uint16_t>(bits);
      const float number = type == DType::kBf16 ? float{b} : float{h};
      if (number != 0 && !std::isnormal(number) && std::isfinite(number)) continue;
      numbers.push_back(static_cast<double>(number));
      b.bits = h.bits = static_cast<uint16_t>(bits + 1);
      const float next = type == DType::kBf16 ? float{b} : float{h};
      const float middle = number + (next - number) / 2;
      if (!std::isnormal(middle)) continue;
      for (const float x :
           {std::nextafter(middle, -1e38F), middle, std::nextafter(middle, 1e38F)}) {
        if (std::isnormal(x)) near_ties.push_back(static_cast<double>(x));
      }
    }
    near_ties.insert(near_ties.end(), {0.0, -0.0, kInfinity, -kInfinity, kNan, 65519.9, 65520.0,
                                       3.4e38, -3.4e38, 1e-30, 2e-8, 3e-8});
    TensorValue stored = Floats(numbers), wide = Floats(near_ties);
    stored.dtype = type;
    const auto exact = [&](DType to, const TensorValue& a) {
      const auto cast = [&](ProgramWriter& w, Expr i) { return Cast(to, w.At(0, {i})); };
      Check(Elementwise(to, {a}, cast), {a}, /*tolerance=*/0);
    };
    exact(DType::kF32, stored);
    exact(type, wide);
  }
}

// What only an unsigned type of that width holds.
TEST_P(BackendConformanceTest, LargeUnsignedNumbersAndFloats) {
  for (const auto& [type, large] : std::vector<std::pair<DType, int64_t>>{
           {DType::kU64, std::numeric_limits<int64_t>::min() + 4096},  // 2^63 + 4096
           {DType::kU32, 4000000000},
           {DType::kU16, 65535}}) {
    SCOPED_TRACE(DTypeName(type));
    const TensorValue a = Integers({large, 0, 1, large / 2, 77}, type);
    Check(Elementwise(DType::kF64, {a},
                      [](ProgramWriter& w, Expr i) { return Cast(DType::kF64, w.At(0, {i})); }),
          {a});
    const double number = type == DType::kU64 ? 9223372036854779904.0 : static_cast<double>(large);
    TensorValue f = Floats({number, 0, 1.75, 77});
    f.dtype = DType::kF64;
    Check(Elementwise(type, {f},
                      [type = type](ProgramWriter& w, Expr i) { return Cast(type, w.At(0, {i})); }),
          {f});
  }
}

TEST_P(BackendConformanceTest, GatherByCheckedIndices) {
  const TensorValue x = Random({50}), good = Integers({0, 49, -1, -50, 7, 7, 12, 3, 4});
  const auto value = [](ProgramWriter& w, Expr i) {
    return w.At(1, {BoundsCheck(w.At(0, {i}), Int(50))});
  };
  Check(Elementwise(DType::kF32, {good, x}, value), {good, x});
  if (!HostRuns()) GTEST_SKIP() << "compiled, not run: the CPU lacks features";
  for (const int64_t bad : {int64_t{50}, int64_t{-51}, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()}) {
    TensorValue indices = good;
    indices.integers[5] = bad;
    EXPECT_THAT(RunStatus(Elementwise(DType::kF32, {indices, x}, value), {indices, x}),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("returned 1")));
  }
}

TEST_P(BackendConformanceTest, ErrorOfABranchThatIsNotTakenDoesNotCount) {
  const TensorValue x = Random({50}), indices = Integers({0, 1000, -1, 99999, 7});
  Check(Elementwise(DType::kF32, {indices, x},
                    [](ProgramWriter& w, Expr i) {
                      const Expr index = w.At(0, {i});
                      return Select(Lt(index, Int(50)), w.At(1, {BoundsCheck(index, Int(50))}),
                                    Float(0));
                    }),
        {indices, x});
}

TEST_P(BackendConformanceTest, DivisionByZeroIsADataError) {
  if (!HostRuns()) GTEST_SKIP() << "the host lacks the instructions";
  for (const ExprKind kind : {ExprKind::kDiv, ExprKind::kFloorDiv, ExprKind::kMod}) {
    const TensorValue a = Integers({5, 6, 7}), b = Integers({1, 0, 2});
    const Program program = Elementwise(DType::kI64, {a, b}, [&](ProgramWriter& w, Expr i) {
      return Binary(kind, w.At(0, {i}), w.At(1, {i}));
    });
    EXPECT_THAT(RunStatus(program, {a, b}),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("returned 2")));
  }
}

TEST_P(BackendConformanceTest, WinogradTransformOfConstantsLeavesAddsOnly) {
  // B^T of F(2x2, 3x3): 0, 1 and -1 only, so that no multiplication may be left.
  const auto bt = std::make_shared<ConstTable>(
      ConstTable{.dtype = DType::kF32,
                 .shape = {4, 4},
                 .values = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1}});
  ProgramWriter w("winograd");
  w.program().numerics = {NumericsClass::kAlgorithm, "winograd", 4};
  const int64_t channels = lanes() + 3;
  const BufferId x = w.Add("X", {4, channels}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {4, channels}, BufferRole::kOutput);
  const BufferId acc =
      w.Add("acc", {4, channels}, BufferRole::kTemp, DType::kF32, Scope::kRegister);
  w.Loop(
      LoopKind::kVectorized, channels,
      [&](Expr c) {
        w.Loop(LoopKind::kUnrolled, 4, [&](Expr i) {
          w.Store(acc, {i, c}, Float(0));
          w.Loop(LoopKind::kUnrolled, 4, [&](Expr k) {
            w.Store(acc, {i, c}, TableLoad(bt, {i, k}) * w.At(x, {k, c}), Combiner::kSum);
          });
          w.Store(y, {i, c}, w.At(acc, {i, c}));
        });
      },
      lanes());
  Check(w.program(), {Random({4, channels})});
  // In C the matrix is read in loops, which the C compiler writes out.
  if (GetParam().make == &MakeTextBackend) return;
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       backend_->Emit(target(), {.program = &w.program()}, "llvm"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("fmul")));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("llvm.fma")));
}

TEST_P(BackendConformanceTest, TablesAreReadAtRunTime) {
  const auto table = std::make_shared<ConstTable>(
      ConstTable{.dtype = DType::kF32,
                 .shape = {3, 5},
                 .values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}});
  const TensorValue a = Random({15});
  Check(Elementwise(DType::kF32, {a},
                    [&](ProgramWriter& w, Expr i) {
                      return w.At(0, {i}) * TableLoad(table, {FloorDiv(i, 5), Mod(i, 5)});
                    }),
        {a});
}

TEST_P(BackendConformanceTest, CompilingTwiceGivesTheSameBytes) {
  if (GetParam().device != nullptr) GTEST_SKIP() << "launches are no module";
  const Program program = GemmTileProgram({.lanes = lanes()});
  ASSERT_OK_AND_ASSIGN(const CompiledModule first,
                       backend_->Compile(target(), {{.program = &program}}));
  ASSERT_OK_AND_ASSIGN(const CompiledModule second,
                       GetParam().make()->Compile(target(), {{.program = &program}}));
  EXPECT_EQ(first.elf, second.elf);
}

TEST_P(BackendConformanceTest, ManyKernelsInOneModule) {
  if (GetParam().device != nullptr) GTEST_SKIP() << "launches are no module";
  const TensorValue a = Random({13});
  const Program one = Elementwise(DType::kF32, {a},
                                  [](ProgramWriter& w, Expr i) { return w.At(0, {i}) + Float(1); });
  const Program two = Elementwise(DType::kF32, {a},
                                  [](ProgramWriter& w, Expr i) { return w.At(0, {i}) * Float(2); });
  ASSERT_OK_AND_ASSIGN(
      CompiledModule module,
      backend_->Compile(target(), {{.symbol = BURNISH_KERNEL_PREFIX "0", .program = &one},
                                   {.symbol = BURNISH_KERNEL_PREFIX "1", .program = &two}}));
  ASSERT_EQ(module.kernels.size(), 2);
  EXPECT_EQ(module.kernels[1].symbol, BURNISH_KERNEL_PREFIX "1");
  EXPECT_GT(module.kernels[1].code_bytes, 0);
  if (!HostRuns()) GTEST_SKIP() << "compiled, not run: the CPU lacks features";
  ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
  ASSERT_OK_AND_ASSIGN(const auto got, runner.Run(two, {a}, 1, 1));
  EXPECT_EQ(got[0].floats[4], 2 * a.floats[4]);
}

TEST_P(BackendConformanceTest, RefusesWhatItCannotDo) {
  ProgramWriter nested("nested");
  const BufferId y = nested.Add("Y", {4, 4}, BufferRole::kOutput);
  nested.Loop(LoopKind::kParallel, 4, [&](Expr i) {
    nested.Loop(LoopKind::kParallel, 4, [&](Expr j) { nested.Store(y, {i, j}, Float(0)); });
  });
  EXPECT_THAT(CompileStatus(nested.program()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not outermost")));

  ProgramWriter dynamic("dynamic");
  const BufferId r = dynamic.Add("R", {4}, BufferRole::kTemp, DType::kF32, Scope::kRegister);
  dynamic.Loop(LoopKind::kSerial, 4, [&](Expr i) { dynamic.Store(r, {i}, Float(0)); });
  EXPECT_THAT(CompileStatus(dynamic.program()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("register buffer R")));

  Program raw = GemmTileProgram({.lanes = lanes()});
  raw.lowered = false;
  EXPECT_THAT(CompileStatus(raw),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not lowered")));
}

INSTANTIATE_TEST_SUITE_P(Llvm, BackendConformanceTest, ::testing::ValuesIn(Isas()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Text, BackendConformanceTest, ::testing::Values(Text(), Emulated()),
                         [](const auto& info) { return info.param.name; });

// LLVM alone: the text backend's code needs no feature of a target.
TEST(BackendTest, RefusesUnknownTargets) {
  const Program program = GemmTileProgram({.lanes = 4});
  const auto compile = [&](const CodegenTarget& target) {
    return MakeLlvmBackend()->Compile(target, {{.program = &program}}).status();
  };
  EXPECT_THAT(compile({.triple = "riscv64-unknown-linux-gnu", .features = Sse42()}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("riscv64")));
  EXPECT_THAT(compile({.features = Plus(Sse42(), {"warp-drive"})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("warp-drive")));
  EXPECT_THAT(compile({.tune_cpu = "z80", .features = Sse42()}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("z80")));
  EXPECT_THAT(compile({.features = {"sse", "sse2"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sse4.1")));
}

}  // namespace
}  // namespace burnish

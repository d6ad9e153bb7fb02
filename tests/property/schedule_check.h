// What the property test asserts of one scheduled program, as a Status that says what went wrong.
#ifndef TESTS_PROPERTY_SCHEDULE_CHECK_H_
#define TESTS_PROPERTY_SCHEDULE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "tests/property/random_program.h"

namespace burnish {

// One element: |got - want| <= 4 * 2^-24 * sqrt(terms) * magnitude, integers exactly. INTERNAL
// names the first element that differs.
absl::Status CompareTensors(const std::vector<TensorValue>& got,
                            const std::vector<TensorValue>& want, int64_t term_count);

// The results of the definition, with magnitudes; those of `scheduled` where Winograd's transforms
// make them greater.
absl::StatusOr<std::vector<TensorValue>> ExpectedResults(const RandomProgram& defined,
                                                         const Program& scheduled);

// Verifies the scheduled and the lowered program and interprets both, the lowered one with 1 to 3
// workers; in double they agree with the definition to 1e-9 of the tolerance's scale.
absl::Status CheckInterpreted(const RandomProgram& defined, const std::vector<TensorValue>& want,
                              const Program& scheduled, const Program& lowered);

struct CompiledCase {
  const RandomProgram* defined;
  const std::vector<TensorValue>* want;
  const Program* lowered;
};

// Compiles all cases into one module, runs each with 1 to 3 workers and compares. One status a
// case. Where the module does not compile, each case is compiled alone. `by`: null for LLVM.
std::vector<absl::Status> CheckCompiled(const CodegenTarget& target,
                                        const std::vector<CompiledCase>& cases,
                                        Backend* by = nullptr);

// SSE4.2, AVX2 with FMA, AVX-512, without those that this host lacks.
// `of_bf16`: the widest multiplies them, where the host does.
std::vector<CodegenTarget> HostTargets(bool of_bf16 = false);

}  // namespace burnish

#endif  // TESTS_PROPERTY_SCHEDULE_CHECK_H_

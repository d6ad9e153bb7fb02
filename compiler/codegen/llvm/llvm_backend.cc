#include "compiler/codegen/llvm/llvm_backend.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/codegen/kernel_layout.h"
#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/shared_library.h"
#include "compiler/codegen/llvm/tile_order.h"
#include "compiler/target/core_rates.h"
#include "compiler/target/instruction.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineOptimizationRemarkEmitter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace burnish {
namespace {

struct Spills {
  int64_t total = 0;
  int64_t innermost = 0;
};

// Counts what the register allocator remarks on, by function. It reports every loop and the
// function as a whole.
class SpillCounter : public llvm::DiagnosticHandler {
 public:
  explicit SpillCounter(std::map<std::string, Spills>* spills, std::string* errors)
      : spills_(spills), errors_(errors) {}

  bool isMissedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == "regalloc"; }
  bool isAnyRemarkEnabled() const override { return true; }

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(*errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      return true;
    }
    if (!llvm::DiagnosticInfoMIROptimization::classof(&info)) return true;
    const auto& remark = static_cast<const llvm::DiagnosticInfoMIROptimization&>(info);
    Spills& spills = (*spills_)[remark.getFunction().getName().str()];
    if (remark.getRemarkName() == "LoopSpillReloadCopies") {
      spills.innermost += InnermostVectorSpills(*remark.getBlock());
    } else if (remark.getRemarkName() == "SpillReloadCopies") {
      for (const auto& argument : remark.getArgs()) {
        // Copies between registers are no memory accesses.
        const llvm::StringRef key = argument.Key;
        int64_t count = 0;
        if ((key == "NumSpills" || key == "NumReloads" || key == "NumFoldedSpills" ||
             key == "NumFoldedReloads") &&
            !llvm::StringRef(argument.Val).getAsInteger(10, count)) {
          spills.total += count;
        }
      }
    }
    return true;
  }

 private:
  // The remark does not say what was spilled. At this point of the compilation the code itself
  // does: accesses of stack slots that the allocator made, of a vector's size.
  static int64_t InnermostVectorSpills(const llvm::MachineBasicBlock& header) {
    constexpr int64_t kLeastVectorBytes = 16;
    auto& function = const_cast<llvm::MachineFunction&>(*header.getParent());
    llvm::MachineDominatorTree dominators(function);
    const llvm::MachineLoopInfo loops(dominators);
    const llvm::MachineLoop* const loop = loops.getLoopFor(&header);
    if (loop == nullptr || !loop->isInnermost()) return 0;
    const llvm::MachineFrameInfo& frame = function.getFrameInfo();
    int64_t count = 0;
    for (const llvm::MachineBasicBlock* block : loop->blocks()) {
      for (const llvm::MachineInstr& instruction : *block) {
        for (const llvm::MachineOperand& operand : instruction.operands()) {
          if (operand.isFI() && frame.isSpillSlotObjectIndex(operand.getIndex()) &&
              frame.getObjectSize(operand.getIndex()) >= kLeastVectorBytes) {
            ++count;
          }
        }
      }
    }
    return count;
  }

  std::map<std::string, Spills>* spills_;
  std::string* errors_;
};

bool HasFeature(const CodegenTarget& target, absl::string_view feature) {
  return std::find(target.features.begin(), target.features.end(), feature) !=
         target.features.end();
}

TileProducts TileProductsOf(const CodegenTarget& target) {
  TileProducts products;
  for (const Instruction* row : AllInstructions()) {
    const bool has = HasFeature(target, "amx-tile") && HasFeature(target, row->feature);
    if (row->tiles != nullptr && has) products.push_back(row);
  }
  return products;
}

// "+avx2,+fma". What is not listed is off: the base CPU has SSE2 only.
std::string FeatureString(const CodegenTarget& target) {
  std::vector<std::string> features = target.features;
  // LLVM's switch for 512-bit registers, which CPUID does not have.
  if (HasFeature(target, "avx512f")) features.push_back("evex512");
  return absl::StrJoin(features, ",", [](std::string* out, const std::string& feature) {
    absl::StrAppend(out, "+", feature);
  });
}

// The named CPU is for tuning alone: its own features would come with its name, and those that a
// hypervisor hides would be used.
constexpr char kBaseCpu[] = "x86-64";

absl::Status CheckTarget(const CodegenTarget& target, const llvm::MCSubtargetInfo& subtarget) {
  for (const std::string& feature : target.features) {
    const auto known = subtarget.getAllProcessorFeatures();
    if (std::none_of(known.begin(), known.end(),
                     [&](const auto& entry) { return feature == entry.Key; })) {
      return absl::InvalidArgumentError(absl::StrCat("unknown CPU feature ", feature));
    }
  }
  if (!subtarget.isCPUStringValid(target.tune_cpu)) {
    return absl::InvalidArgumentError(absl::StrCat("unknown CPU ", target.tune_cpu));
  }
  // Rounding would be calls to libm without it.
  if (!subtarget.checkFeatures("+sse4.1")) {
    return absl::InvalidArgumentError("the target lacks sse4.1");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(
    const CodegenTarget& target) {
  // x86 only: initializing all of LLVM's targets would link them all.
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  const llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target* const llvm_target =
      triple.getArch() == llvm::Triple::x86_64 && triple.isOSBinFormatELF()
          ? llvm::TargetRegistry::lookupTarget(target.triple, error)
          : nullptr;
  if (llvm_target == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no backend for triple ", target.triple));
  }
  llvm::TargetOptions options;
  // Fuses what the instructions' own `contract` flags allow, nothing else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(llvm_target->createTargetMachine(
      target.triple, kBaseCpu, FeatureString(target), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  RETURN_IF_ERROR(CheckTarget(target, *machine->getMCSubtargetInfo()));
  return machine;
}

void SetAttributes(const CodegenTarget& target, llvm::Module& module) {
  const char* width = HasFeature(target, "avx512f") ? "512"
                      : HasFeature(target, "avx")   ? "256"
                                                    : "128";
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", kBaseCpu);
    function.addFnAttr("target-features", FeatureString(target));
    function.addFnAttr("tune-cpu", target.tune_cpu);
    // LLVM prefers 256 bits on several CPUs with 512, for the sake of their clock. The schedule has
    // chosen the width.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("no-builtins");
  }
}

// What is left to do on code that was emitted with its vectors, unrolled loops and addresses in
// place: registers for arrays, common subexpressions, loads out of loops. A quarter of the time of
// LLVM's O2, and the same code.
llvm::ModulePassManager MakePipeline() {
  llvm::FunctionPassManager passes;
  // SROA first, as accumulators are arrays until then and nothing else sees through them. LICM
  // needs what CSE has made equal. The second round cleans up what LICM has moved.
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return pipeline;
}

void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  // No loop may become a call to memset: there is no libc.
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  MakePipeline().run(module, modules);
}

// Two passes of the code generator have no other switch than LLVM's command line. Loads of a
// register tile are emitted in the order in which they need the fewest registers: the scheduler
// would hoist them until accumulators spill, and a processor that runs out of order gains nothing
// by it. Loop strength reduction takes longer than everything else together, to replace addresses
// that are one register and a constant already.
void SwitchOffPasses() {
  llvm::cl::ResetAllOptionOccurrences();
  const char* const arguments[] = {"burnish", "-enable-misched=false", "-disable-lsr"};
  CHECK(llvm::cl::ParseCommandLineOptions(std::size(arguments), arguments, "", &llvm::nulls()));
}

absl::StatusOr<std::string> EmitMachineCode(llvm::Module& module, llvm::TargetMachine& machine,
                                            llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return absl::InternalError("LLVM cannot emit this kind of file");
  }
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

class LlvmBackend : public Backend {
 public:
  explicit LlvmBackend(LlvmBackendOptions options) : options_(std::move(options)) {
    SwitchOffPasses();
  }

  absl::StatusOr<CompiledObject> CompileObject(
      const CodegenTarget& target, absl::Span<const KernelSource> sources) const override;
  absl::StatusOr<std::vector<uint8_t>> Link(absl::Span<const std::string> objects) override;
  absl::StatusOr<std::string> Emit(const CodegenTarget& target, const KernelSource& source,
                                   absl::string_view form) override;

 private:
  // Adds the source's functions to the module and says what they are.
  static absl::StatusOr<KernelInfo> AddKernel(const CodegenTarget& target,
                                              const KernelSource& source, llvm::Module& module);
  static absl::StatusOr<std::unique_ptr<llvm::Module>> BuildModule(
      const CodegenTarget& target, absl::Span<const KernelSource> sources,
      llvm::LLVMContext& context, llvm::TargetMachine& machine, std::vector<KernelInfo>& infos);

  LlvmBackendOptions options_;
};

absl::StatusOr<KernelInfo> LlvmBackend::AddKernel(const CodegenTarget& target,
                                                  const KernelSource& source,
                                                  llvm::Module& module) {
  const Program program = OrderTileLoops(*source.program);
  ASSIGN_OR_RETURN(const KernelLayout layout, PlanLayout(program));
  const KernelInfo info = InfoOf({source.symbol, &program}, layout);
  FunctionOptions options{
      .symbol = source.symbol,
      .small_floats = {.f16 = HasFeature(target, "f16c"),
                       .bf16 = HasFeature(target, "avx512bf16") && HasFeature(target, "avx512vl")},
      .math = {.scale = HasFeature(target, "avx512f") && HasFeature(target, "avx512vl"),
               .fused_multiply_add = HasFeature(target, "fma") || HasFeature(target, "avx512f")},
      .dot4_bits = HasFeature(target, "avx512vnni") ? 512
                   : HasFeature(target, "avxvnni")  ? 256
                                                    : 0,
      .integer_vector_bits = HasFeature(target, "avx512bw") ? 512
                             : HasFeature(target, "avx2")   ? 256
                                                            : 128,
      .prefetches_through_l1 = CoreRatesOf(target.tune_cpu).prefetches_through_l1,
      .masks_lanes = HasFeature(target, "avx512bw") && HasFeature(target, "avx512vl"),
      .tiles = TileProductsOf(target)};
  RETURN_IF_ERROR(EmitFunction(program, layout, options, module));
  if (info.has_pack) {
    options.symbol = PackSymbol(source.symbol);
    options.pack = true;
    RETURN_IF_ERROR(EmitFunction(program, layout, options, module));
  }
  return info;
}

absl::StatusOr<std::unique_ptr<llvm::Module>> LlvmBackend::BuildModule(
    const CodegenTarget& target, absl::Span<const KernelSource> sources, llvm::LLVMContext& context,
    llvm::TargetMachine& machine, std::vector<KernelInfo>& infos) {
  auto module = std::make_unique<llvm::Module>("kernels", context);
  module->setTargetTriple(target.triple);
  module->setDataLayout(machine.createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  for (const KernelSource& source : sources) {
    // LLVM would rename the second one, and its caller would call the first.
    if (module->getFunction(source.symbol) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("two kernels are called ", source.symbol));
    }
    absl::StatusOr<KernelInfo> info = AddKernel(target, source, *module);
    if (!info.ok()) {
      return absl::Status(info.status().code(),
                          absl::StrCat(source.symbol, ": ", info.status().message()));
    }
    infos.push_back(*std::move(info));
  }
  SetAttributes(target, *module);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  // Before the optimizer, which may do anything with a broken module.
  if (llvm::verifyModule(*module, &stream)) {
    return absl::InternalError(absl::StrCat("broken module: ", broken));
  }
  Optimize(*module, machine);
  return module;
}

absl::StatusOr<CompiledObject> LlvmBackend::CompileObject(
    const CodegenTarget& target, absl::Span<const KernelSource> sources) const {
  ASSIGN_OR_RETURN(const auto machine, MakeTargetMachine(target));
  llvm::LLVMContext context;
  std::map<std::string, Spills> spills;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<SpillCounter>(&spills, &errors));
  CompiledObject compiled;
  ASSIGN_OR_RETURN(const auto module,
                   BuildModule(target, sources, context, *machine, compiled.kernels));
  ASSIGN_OR_RETURN(compiled.elf,
                   EmitMachineCode(*module, *machine, llvm::CodeGenFileType::ObjectFile));
  // LLVM reports errors of the code generator to the handler and goes on with an object that is not
  // whole.
  if (!errors.empty()) return absl::InternalError(absl::StrCat("LLVM: ", errors));
  const std::map<std::string, int64_t> sizes = FunctionSizes(compiled.elf);
  for (KernelInfo& info : compiled.kernels) {
    // The kernel only: packing is not timed.
    info.spill_count = spills[info.symbol].total;
    info.innermost_spill_count = spills[info.symbol].innermost;
    const auto size = sizes.find(info.symbol);
    info.code_bytes = size == sizes.end() ? 0 : size->second;
  }
  return compiled;
}

absl::StatusOr<std::vector<uint8_t>> LlvmBackend::Link(absl::Span<const std::string> objects) {
  absl::StatusOr<std::vector<uint8_t>> library =
      LinkSharedLibrary(objects, options_.temporary_folder);
  SwitchOffPasses();  // The linker has put LLVM's command line back to its defaults.
  return library;
}

absl::StatusOr<std::string> LlvmBackend::Emit(const CodegenTarget& target,
                                              const KernelSource& source, absl::string_view form) {
  ASSIGN_OR_RETURN(const auto machine, MakeTargetMachine(target));
  llvm::LLVMContext context;
  std::vector<KernelInfo> infos;
  ASSIGN_OR_RETURN(const auto module, BuildModule(target, {source}, context, *machine, infos));
  if (form == "llvm") {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, nullptr);
    return text;
  }
  if (form == "asm") {
    return EmitMachineCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile);
  }
  return absl::InvalidArgumentError(absl::StrCat("got form ", form, ", want llvm or asm"));
}

}  // namespace

std::unique_ptr<Backend> MakeLlvmBackend(LlvmBackendOptions options) {
  return std::make_unique<LlvmBackend>(std::move(options));
}

std::string LlvmVersion() { return LLVM_VERSION_STRING; }

}  // namespace burnish

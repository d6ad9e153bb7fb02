// tuner compile: the best recorded schedules into a bundle. Measures no schedule; on a machine that
// has no calibration row of this boot, it measures the machine first.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/frontend/onnx_export.h"
#include "compiler/frontend/zoo.h"
#include "compiler/graph/graph_dot.h"
#include "tuner/app/build_bundle.h"
#include "tuner/app/build_range.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/database.h"
#include "tuner/app/emit_sketches.h"
#include "tuner/app/error.h"
#include "tuner/app/model_source.h"
#include "tuner/app/output_file.h"
#include "tuner/app/precision.h"
#include "tuner/app/recorded_schedules.h"
#include "tuner/app/study_view.h"
#include "tuner/app/tuning.h"
#include "tuner/cli/best_on_record.h"
#include "tuner/cli/build_report.h"
#include "tuner/cli/build_view.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/local_tuning.h"
#include "tuner/cli/pass_flags.h"
#include "tuner/cli/run_flags.h"
#include "tuner/cli/study_flags.h"
#include "tuner/cli/torch_model.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class CompileCommand : public Command {
 public:
  std::string name() const override { return "compile"; }
  std::string summary() const override { return "builds a model with the best recorded schedules"; }
  std::string example() const override {
    return "tuner compile --model model.onnx --out model.bundle\n"
           "tuner compile --task conv2d:h=56,ci=64,co=64,k=3,p=1 --emit asm";
  }
  void AddOptions(CommandOptions& options) override {
    options.Group("What to build");
    options.Value("--task", "NAME|SPEC", &request_.task,
                  "a model of the zoo, or one operator: conv2d:h=56,ci=64,co=64,k=3,p=1");
    options.Suggest("--task", ZooModelNames());
    options.Value("--model", "FILE", &request_.model,
                  "an ONNX file, or one of torch.export (.pt2)");
    options.Value("--study", "STUDY", &study_, "a study's model, with its shapes and layers");
    inputs_.Add(options);
    options.Value("--batch", "N", &request_.batch, 1, 65536, "of the zoo's models");
    options.Group("Output");
    options.Value("--out", "FILE", &out_, "the bundle, or with --emit the text; else stdout");
    options.Group("How");
    options.Value("--opt-level", "N", &opt_level_, 0, 3,
                  "0: no fusion, 1: fusion, 2: layout, 3: rounding may change");
    options.Value(
        "--accuracy", "E", &accuracy_,
        "error of the whole model at most, or strict; else 1e-4, and 2e-2 with --precision");
    options.Choice("--precision", &precision_, Precisions(), kPrecisionHelp);
    options.Value("--data", "DIR", &data_, kDataHelp);
    options.Flag("--require-tuned", &require_tuned_, "fail unless each task was tuned here");
    options.Flag("--refit", &request_.refit,
                 "all floating-point parameters can be replaced in the bundle later");
    options.Group("Output");
    options.Choice("--emit", &emit_,
                   {"onnx", "ir", "sketches", "schedule", "lowered", "c", "llvm", "asm"},
                   "print a point of the way instead of a bundle");
    passes_.Add(options);
    options.Group("Where");
    options.Value("--threads", "N", &threads_, 0, 1024, "0: those of the target");
    AddCpusFlag(options, &cpus_);
    options.OnlyWith("--batch", {"--task"});
    options.Setting("target");
    options.Setting("calibration");
    options.Setting("cache");
    options.Setting("python");
    options.Setting("server");
    options.Setting("db");
    options.Group("Output");
    options.Flag("--verbose", &verbose_, "a row for each task, too");
    options.Json();
    options.Quiet();
    // A study has its own.
    for (const char* of_model :
         {"--shape", "--value", "--dim", "--opt-level", "--accuracy", "--precision", "--data",
          "--require-tuned", "--refit", "--threads", "--cpus", "--target", "--calibration"}) {
      options.OnlyWith(of_model, {"--task", "--model"});
    }
    // A model is written as it came, and not as it would be built. What says on what it would be,
    // such as --threads, may stand there: one line is given with each point of the way.
    for (const char* of_build :
         {"--opt-level", "--precision", "--data", "--require-tuned", "--refit", "--passes"}) {
      options.OnlyWith(of_build, {"--emit!=onnx"});
    }
    options.OnlyWith("--data", {"--emit!=sketches"});
  }

  absl::Status Run(Context& context) override {
    if (passes_.lists()) return ListPasses(context);
    const bool dumps = !passes_.dump_after().empty();
    if (dumps && !emit_.empty()) {
      return MakeError(ErrorCode::kUsage, "--dump-graph-after prints a text of its own", "--emit",
                       "leave out --emit");
    }
    // A point of the way like others.
    if (dumps) emit_ = absl::EndsWith(out_, ".dot") ? kDot : kGraph;
    if (out_.empty() && emit_.empty()) {
      return MakeError(ErrorCode::kUsage, "no --out", "tuner compile",
                       "--out FILE, or --emit, or --dump-graph-after");
    }
    if (verbose_ && (context.json() || !emit_.empty())) {
      return MakeError(ErrorCode::kUsage,
                       "--verbose does nothing here: it adds a table to what is said of a bundle",
                       "tuner compile", "leave out --verbose");
    }
    if (!study_.empty()) return CompileStudy(context);
    RETURN_IF_ERROR(CheckModelFlags(request_.task, request_.model, "tuner compile"));
    ASSIGN_OR_RETURN(request_.model, ModelFile(request_.model, context.settings().Get("python")));
    ASSIGN_OR_RETURN(const Target target, ResolveTarget(context));
    BuildModelOptions options{.target = target,
                              .opt_level = static_cast<int>(opt_level_),
                              .require_tuned = require_tuned_,
                              .refit = request_.refit};
    ASSIGN_OR_RETURN(options.passes, passes_.Parse(options.opt_level));
    ASSIGN_OR_RETURN(options.select, ParseAccuracy(accuracy_, precision_));
    RETURN_IF_ERROR(TakePrecision(precision_, options));
    ASSIGN_OR_RETURN(request_.shapes, inputs_.Parse());
    ModelLoader loader(request_);
    ASSIGN_OR_RETURN(const Graph graph, loader.Load(request_.shapes));
    const std::string what = request_.task.empty() ? request_.model : request_.task;
    if (emit_ == "onnx") return EmitOnnx(context, graph, what);
    if (emit_ == "sketches") {
      ASSIGN_OR_RETURN(const std::string text, EmitSketches(graph, options, what));
      return WriteText(context, text);
    }
    const CompileCache cache(context.CacheFolder());
    ScheduleFacts facts{.cache = &cache};
    ASSIGN_OR_RETURN(facts.find_best, FindBestOnRecord(context));
    // Of the whole machine: others use the row as well.
    ASSIGN_OR_RETURN(facts.calibration, context.ResolveRow(target, /*tracker=*/""));
    RETURN_IF_ERROR(MoveToListedCpus(cpus_));
    BuildView view(context);
    options.progress = [&view](const BuildProgress& progress) { view.Update(progress); };
    RETURN_IF_ERROR(TakeExamples(data_, precision_, graph, facts, what, options));
    if (!emit_.empty()) {
      if (options.fastest_storage) {
        ASSIGN_OR_RETURN(options.storage, ChooseBundleStorage(graph, facts, options, what));
      }
      ASSIGN_OR_RETURN(const std::string text, dumps
                                                   ? GraphText(graph, options, what)
                                                   : EmitPoint(graph, facts, options, what, emit_));
      return WriteText(context, text);
    }
    ASSIGN_OR_RETURN(const BuiltModel built, BuildRange(graph, loader, facts, options, what));
    view.Finish();
    RETURN_IF_ERROR(WriteOutput(out_, built.bundle));
    if (context.json()) {
      Json json = {{"schema", 1}, {"bundle", out_}, {"target", target.ToText()}};
      json.update(BuildReportJson(built));
      json["pass_times"] = passes_.TimesJson();
      context.out() << json.dump() << "\n";
    } else {
      context.out() << (verbose_ ? BuildTableText(built, context.table_columns()) : "")
                    << BuildReportText(
                           built,
                           {.out = out_, .target = target, .has_sizes = !graph.sizes.empty()});
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ListPasses(Context& context) const {
    context.out() << (context.json() ? PassFlags::ListJson().dump() + "\n"
                                     : PassFlags::ListText(context.table_columns()));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> GraphText(const Graph& graph, const BuildModelOptions& options,
                                        const std::string& what) const {
    const absl::StatusOr<Graph> after = GraphAfterPass(graph, options, passes_.dump_after());
    if (!after.ok()) return BuildError(after.status(), what);
    return emit_ == kDot ? PrintDot(*after) : PrintGraph(*after);
  }

  // As its own end builds it: its model, shapes, layers and accuracy, whatever is on record now.
  absl::Status CompileStudy(Context& context) {
    if (!request_.task.empty() || !request_.model.empty() || !emit_.empty() || passes_.given() ||
        !context.settings().Get("server").empty()) {
      return MakeError(ErrorCode::kUsage, "--study says what is built, as a bundle, from --db",
                       absl::StrCat("--study ", study_), "tuner compile --study STUDY --out FILE");
    }
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
    ASSIGN_OR_RETURN(const std::string id, ResolveStudyId(database, study_));
    const absl::StatusOr<StudySummary> summary = database.studies->Get(id);
    RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
    ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
    ASSIGN_OR_RETURN(const Tuning tuning, PrepareTuning(spec));
    return BuildTuned(context, BestIn(*database.records), tuning, out_, verbose_);
  }

  // This machine has as many threads as CPUs are listed.
  absl::StatusOr<Target> ResolveTarget(Context& context) const {
    auto threads = static_cast<int>(threads_);
    if (!cpus_.empty()) {
      ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseCpus(cpus_));
      if (threads == 0 && context.settings().Get("target") == "host") {
        threads = std::min(static_cast<int>(cpus.size()), UsableCpuCount());
      }
    }
    return context.ResolveTarget(threads);
  }

  absl::Status EmitOnnx(Context& context, const Graph& graph, const std::string& what) {
    const absl::StatusOr<std::string> bytes = ExportOnnx(graph);
    if (!bytes.ok()) return WithError(bytes.status(), ErrorCode::kUnsupportedOperator, what);
    if (context.json() && out_.empty()) {
      return MakeError(ErrorCode::kUsage, "--json: an ONNX file is no text", "tuner compile",
                       "--out FILE writes it");
    }
    return WriteText(context, *bytes);
  }

  absl::Status WriteText(Context& context, const std::string& text) {
    if (!out_.empty()) RETURN_IF_ERROR(WriteOutput(out_, text));
    if (context.json()) {
      Json json = {{"schema", 1}, {"emit", emit_}};
      if (out_.empty()) {
        json["text"] = text;
      } else {
        json["out"] = out_;
      }
      context.out() << json.dump() << "\n";
    } else if (out_.empty()) {
      context.out() << text;
    }
    return absl::OkStatus();
  }

  static constexpr char kDot[] = "dot", kGraph[] = "graph";  // As --json calls a dump.

  ModelRequest request_;
  InputFlags inputs_;
  PassFlags passes_;
  std::string study_, out_, emit_, cpus_, accuracy_, data_, precision_ = "f32";
  int64_t opt_level_ = 3;
  int64_t threads_ = 0;
  bool require_tuned_ = false;
  bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }

}  // namespace burnish

#include "tuner/cli/error_text.h"

#include <sysexits.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "compiler/frontend/onnx_import.h"
#include "proto/program_error.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitInterrupted = 130;  // As shells say it: 128 + SIGINT.

// Exit codes say what a script may do: EX_TEMPFAIL the same again later, EX_UNAVAILABLE when
// something was started or installed, EX_USAGE and EX_CONFIG with another line or setting,
// EX_DATAERR with another file.
constexpr ErrorInfo kErrors[] = {
    {ErrorCode::kUsage, EX_USAGE, "wrong arguments", "tuner --help lists the commands"},
    {ErrorCode::kSettings, EX_CONFIG, "a setting has a value that is not allowed",
     "tuner config show --origin says where each comes from"},
    {ErrorCode::kTarget, EX_USAGE, "a target that cannot be read or is not known",
     "--target host, or a text such as cpu:arch=znver3,threads=2"},
    {ErrorCode::kNotAvailableYet, EX_UNAVAILABLE, "known, but not in this version",
     "this version has CPU targets and SQLite databases"},
    {ErrorCode::kNoInputFile, EX_NOINPUT, "a file is not there", "check the path"},
    {ErrorCode::kBadNpy, EX_DATAERR, "not a NumPy file that can be read",
     "numpy.save(path, numpy.ascontiguousarray(x)) writes one"},
    {ErrorCode::kInputPermission, EX_NOPERM, "a file must not be read", "check who owns it"},
    {ErrorCode::kOutputFile, EX_IOERR, "a file cannot be written",
     "check that its folder is there and has space"},
    {ErrorCode::kBadModel, EX_DATAERR, "the model is broken",
     "onnx.checker.check_model says more about it"},
    {ErrorCode::kUnsupportedOperator, EX_DATAERR, "the model needs what is not supported",
     "docs/operators.md lists what is"},
    {ErrorCode::kShapeMissing, EX_DATAERR,
     "a model input has no fixed shape, or no fixed value where shapes depend on it",
     "--shape NAME=1x3x224x224; --dim NAME=1..512; --value NAME=16000"},
    {ErrorCode::kModelTooLarge, EX_DATAERR, "the model is beyond a limit",
     "a smaller --shape, --dim or --batch, where it has one"},
    {ErrorCode::kUnknownModel, EX_USAGE, "no model of that name",
     "tuner submit --help lists the names"},
    {ErrorCode::kBadSpec, EX_USAGE, "an operator's text that cannot be read",
     "for example conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1"},
    {ErrorCode::kWrongShape, EX_USAGE, "a --shape, --dim or --value does not fit the model",
     "--shape INPUT=1x3x224x224, an input of the model, with the dimensions that it fixes as they "
     "are; --dim NAME=1..512, a dimension that it names; --value INPUT=16000, as many numbers as "
     "it "
     "has"},
    {ErrorCode::kNotBundle, EX_DATAERR, "not a bundle",
     "tuner compile --model FILE.onnx --out FILE writes one"},
    {ErrorCode::kDamagedBundle, EX_DATAERR, "the bundle is damaged",
     "copy it again, or build it again with tuner compile"},
    {ErrorCode::kOtherCpu, EX_UNAVAILABLE, "the bundle is for another CPU or version",
     "build it for this machine: tuner compile --target host"},
    {ErrorCode::kTensorMismatch, EX_DATAERR, "an array has another shape or type than the model's",
     "tuner run FILE --info lists inputs and outputs"},
    {ErrorCode::kUnknownTensor, EX_USAGE, "the model has no such input or output",
     "tuner run FILE --info lists inputs and outputs"},
    {ErrorCode::kRunFailed, EX_DATAERR, "the model refused its input", ""},
    {ErrorCode::kOutputDiffers, EX_DATAERR, "an output is not what was expected",
     "--tolerance says how much it may differ; --accuracy strict builds without Winograd"},
    {ErrorCode::kBadExamples, EX_DATAERR, "examples that cannot be used",
     "some hundred inputs as numpy.save writes them, finite, in the shapes of the model's inputs"},
    {ErrorCode::kNotDatabase, EX_DATAERR, "not a database of ours", "name another file with --db"},
    {ErrorCode::kNewerDatabase, EX_DATAERR, "the database is of a newer version",
     "use the newer version, or another file with --db"},
    {ErrorCode::kLockedDatabase, EX_TEMPFAIL, "another process holds the database",
     "try again when it is done"},
    {ErrorCode::kDatabasePermission, EX_NOPERM, "the database must not be used",
     "check who owns the file and its folder"},
    {ErrorCode::kDatabaseFull, EX_IOERR, "no space for the database; nothing was lost",
     "free space on its disk, then tuner resume"},
    {ErrorCode::kDamagedDatabase, EX_DATAERR, "the database is damaged",
     "put back a copy, or save what is left: sqlite3 FILE .recover"},
    {ErrorCode::kDatabaseIo, EX_IOERR, "the database cannot be read or written",
     "the kernel's log says more"},
    {ErrorCode::kDatabaseFolder, EX_NOINPUT, "the database's folder cannot be made",
     "check the path given with --db"},
    {ErrorCode::kDatabaseScheme, EX_UNAVAILABLE, "no such kind of database", "--db FILE"},
    {ErrorCode::kNoDatabase, EX_NOINPUT, "there is no database",
     "the first tuner submit makes one; or name another with --db, or a daemon with --server"},
    {ErrorCode::kNoStudy, EX_NOINPUT, "no such study", "tuner list shows the studies"},
    {ErrorCode::kStudyState, EX_DATAERR, "the study's state does not allow it",
     "tuner status STUDY shows the state"},
    {ErrorCode::kNoRecord, EX_NOINPUT, "nothing was measured for it", "tuner submit tunes it"},
    {ErrorCode::kModelChanged, EX_DATAERR, "the model file is not the one that was submitted",
     "put the file back, or submit it as a new study"},
    {ErrorCode::kNothingMeasured, EX_UNAVAILABLE, "all that was tried for the study has failed",
     "tuner status STUDY says how; tuner workers shows what is measured on; then submit it again"},
    {ErrorCode::kStudyOwned, EX_TEMPFAIL, "another process runs the study",
     "tuner watch STUDY follows it, tuner cancel STUDY ends it; if that process hangs, end it "
     "first"},
    {ErrorCode::kStudyParked, EX_TEMPFAIL, "the study is parked",
     "tuner status STUDY says why; tuner resume STUDY goes on with it"},
    {ErrorCode::kStudyOfAnother, EX_NOPERM, "the study is not this client's",
     "as the user who submitted it, or with that BURNISH_CLIENT_SECRET"},
    {ErrorCode::kTrackerUnreachable, EX_UNAVAILABLE, "no tracker answers",
     "start one: tracker --listen ADDR; or leave --tracker out to use this machine"},
    {ErrorCode::kTrackerProtocol, EX_PROTOCOL, "the tracker speaks another version",
     "use programs of one version, or of neighbouring ones"},
    {ErrorCode::kNoWorker, EX_NOINPUT, "the tracker knows no such worker",
     "tuner workers lists them"},
    {ErrorCode::kServerUnreachable, EX_UNAVAILABLE, "no tuner daemon answers",
     "start one: tuner serve; or leave --server out"},
    {ErrorCode::kNoServer, EX_UNAVAILABLE, "it needs a tuner daemon",
     "start one: tuner serve --listen ADDR --tracker ADDR"},
    {ErrorCode::kServerProtocol, EX_PROTOCOL, "the tuner daemon speaks another version",
     "use programs of one version, or of neighbouring ones"},
    {ErrorCode::kNoMatchingWorker, EX_UNAVAILABLE, "no worker of the farm can do the jobs",
     "tuner workers shows what there is"},
    {ErrorCode::kTunerRefused, EX_NOPERM, "the tracker takes this tuner for a stranger",
     "end the other process that runs the study, wait a minute, then tuner resume STUDY"},
    {ErrorCode::kProgramMissing, EX_UNAVAILABLE, "one of our own programs is missing",
     "build or install all of them: bazel build //..."},
    {ErrorCode::kCrashLoop, EX_UNAVAILABLE, "a child process keeps crashing",
     "tuner resume STUDY goes on; tuner doctor looks at the machine"},
    {ErrorCode::kBuildFailed, EX_SOFTWARE, "the builder could not build it",
     "please report it with the text above"},
    {ErrorCode::kOverAccuracy, EX_DATAERR, "the model is less accurate than it may be",
     "a larger --accuracy, or --precision f32"},
    {ErrorCode::kInternal, EX_SOFTWARE, "a bug of Burnish", "please report it with the command"},
    {ErrorCode::kIo, EX_IOERR, "the system could not read or write", ""},
    {ErrorCode::kOutOfMemory, EX_TEMPFAIL, "not enough memory", "close other programs, try again"},
    {ErrorCode::kPermission, EX_NOPERM, "not allowed", ""},
    {ErrorCode::kInterrupted, kExitInterrupted, "interrupted", ""},
    {ErrorCode::kUnavailable, EX_UNAVAILABLE, "something that it needs is not there", "try again"},
    {ErrorCode::kDiskFull, EX_IOERR, "no space left on the disk", "free space, try again"},
};

// Options that texts of the application name, each the flag without its dashes.
constexpr absl::string_view kOptions[] = {
    "accuracy",       "batch",     "cost-model", "data",      "dim",
    "early-stopping", "opt-level", "precision",  "priority",  "refit",
    "scheduler",      "shape",     "step",       "strategy",  "target",
    "task-scheduler", "time",      "trials",     "until-gain"};

std::string WithFlags(std::string text) {
  for (const absl::string_view option : kOptions) {
    text =
        absl::StrReplaceAll(text, {{absl::StrCat("`", option, "`"), absl::StrCat("--", option)}});
  }
  return text;
}

ProgramError Tell(const absl::Status& status) {
  const ErrorInfo& info = InfoOf(ErrorCodeOf(status));
  ErrorParts parts = PartsOf(status);
  ProgramError told{.number = ErrorName(info.code),
                    .message = std::string(status.message()),
                    .where = std::move(parts.where),
                    .hint = std::move(parts.hint)};
  constexpr absl::string_view kHint = "; hint: ";
  if (const size_t at = told.message.rfind(kHint.data(), std::string::npos, kHint.size());
      at != std::string::npos) {
    if (told.hint.empty()) told.hint = told.message.substr(at + kHint.size());
    told.message.resize(at);
  }
  for (std::string* text : {&told.message, &told.where, &told.hint}) *text = WithFlags(*text);
  if (told.hint.empty()) told.hint = info.hint;
  return told;
}

// Lines "COUNT NAME".
Json OperatorsJson(const std::string& lines) {
  Json operators = Json::array();
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int count = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &count)) continue;
    operators.push_back({{"name", parts[1]}, {"count", count}});
  }
  return operators;
}

}  // namespace

absl::Span<const ErrorInfo> AllErrors() { return kErrors; }

const ErrorInfo& InfoOf(ErrorCode code) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [&](const ErrorInfo& info) { return info.code == code; });
  CHECK(found != std::end(kErrors)) << "no entry for " << static_cast<int>(code);
  return *found;
}

int ExitCodeOf(const absl::Status& status) {
  return status.ok() ? EX_OK : InfoOf(ErrorCodeOf(status)).exit_code;
}

std::string FormatError(const absl::Status& status, bool color) {
  ProgramError told = Tell(status);
  for (std::string* text : {&told.message, &told.where, &told.hint}) *text = Printable(*text);
  return ProgramErrorText(told, color);
}

std::string ErrorJson(const absl::Status& status) {
  Json json = Json::parse(ProgramErrorJson(Tell(status)));
  if (const auto missing = status.GetPayload(kMissingOperatorsUrl); missing.has_value()) {
    json["error"]["operators"] = OperatorsJson(std::string(*missing));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace burnish

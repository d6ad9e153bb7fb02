// Why a recorded schedule is as fast as it is: finds the record that a user names, and puts
// together what the models, the other records of its task and its own machine code say.
#ifndef TUNER_APP_EXPLAIN_RECORD_H_
#define TUNER_APP_EXPLAIN_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/open.h"
#include "proto/builder.h"
#include "proto/calibration_row.h"
#include "proto/record.h"
#include "proto/workload.h"
#include "tuner/app/device_peak.h"
#include "tuner/explain/assembly_facts.h"
#include "tuner/explain/record_comparison.h"
#include "tuner/explain/schedule_report.h"

namespace burnish {

struct ExplainQuestion {
  // A trial ("STUDY/t0/17", as `query` has it), a candidate (64 hexadecimal digits), a task's name
  // or the beginning of its workload's hash, which stands for its best record; or a bundle's path.
  std::string what;
  std::string step;    // Of the bundle: its name, or its number from 0.
  std::string target;  // Canonical text; empty: any.
};

struct FoundRecord {
  std::string title;  // For people: what the task computes.
  Workload workload;
  Record record;
  // Successful ones of the same workload, target, contract, epoch and method of measuring.
  std::vector<Record> others;
  // Of the study that measured it first, where that is known: by which its search was guided.
  bool has_study = false;
  std::optional<CalibrationRow> study_row;
};

// Errors: B0603 where nothing is on record, B0101 where several tasks have the name, B04xx for a
// bundle, B05xx.
absl::StatusOr<FoundRecord> FindRecord(const Database& database, const ExplainQuestion& question);

// Of its machine code, built again.
struct CodeReport {
  int64_t code_bytes = 0, scratch_bytes = 0, packed_bytes = 0;
  // Vector registers that innermost loops put aside: stores and loads in the text.
  int spill_count = 0;
  std::optional<HotLoop> hot_loop;
};

struct Explanation {
  FoundRecord found;
  int threads = 1;
  std::string device;           // The microarchitecture.
  bool peaks_measured = false;  // By a calibration row; else by its table.
  double measured_ns = 0;       // Alone.
  int64_t flop_count = 0;       // By definition.
  int64_t least_bytes = 0;      // Inputs, constants and outputs, each once.
  double peak_flops = 0;        // Of all threads, with loads; 0: no unit has the type.
  double peak_read_bytes = 0;   // A second, from memory, of all threads.
  RooflineBound roofline;
  ScheduleReport report;
  RecordComparison comparison;
  std::optional<CodeReport> code;
  std::string code_trouble;  // Why there is none.
};

struct ExplainOptions {
  std::optional<CalibrationRow> row = std::nullopt;  // Nothing: the microarchitecture's table.
  int runner_up_max = 5;
  Builder* builder = nullptr;  // Null: the code is not looked at.
};

// B0301: a workload, target or trace that this version cannot read.
absl::StatusOr<Explanation> Explain(FoundRecord found, const ExplainOptions& options);

}  // namespace burnish

#endif  // TUNER_APP_EXPLAIN_RECORD_H_

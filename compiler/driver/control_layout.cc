#include "compiler/driver/control_layout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/ir/program.h"

namespace burnish {
namespace {

// The two places of a state start at a line each.
int64_t AlignUp(int64_t bytes) {
  return (bytes + kPlanAlignmentBytes - 1) / kPlanAlignmentBytes * kPlanAlignmentBytes;
}

}  // namespace

ControlLayout::ControlLayout(const PlannedModel& model, const std::vector<bool>& is_step)
    : model_(model), ranges_(StepRanges(model.regions, model.fusion, is_step)) {
  // In the order in which Program() makes them.
  int next = 0;
  for (const ControlRegion& region : model.regions) {
    for (const ControlRegion::Choice& choice : region.choices) {
      home_[choice.first] = home_[choice.second] = choice.result;
    }
    for (const auto* slices : {&region.slices, &region.stacks}) {
      for (const ControlRegion::Slice& slice : *slices) walker_of_[slice.part] = next++;
    }
    for (const ControlRegion::State& state : region.states) {
      if (state.stack < 0) walker_of_[state.output] = next++;
      walker_of_[state.input] = next++;
    }
    condition_walker_.push_back(-1);
    if (region.next_condition >= 0) {
      walker_of_[region.next_condition] = next++;
      condition_walker_.back() = next++;
    }
  }
}

ValueId ControlLayout::Home(ValueId value) const {
  for (auto found = home_.find(value); found != home_.end(); found = home_.find(value)) {
    value = found->second;
  }
  return value;
}

int ControlLayout::WalkerOf(ValueId home) const {
  const auto found = walker_of_.find(home);
  return found == walker_of_.end() ? -1 : found->second;
}

int64_t ControlLayout::BytesOf(ValueId value) const {
  const TensorType& type = model_.graph.value(value).type;
  return ElementCount(type.shape) * SizeBytes(type.dtype);
}

uint32_t ControlLayout::AlignmentOf(ValueId value) const {
  return static_cast<uint32_t>(model_.storage.places[value].storage.alignment_bytes);
}

void ControlLayout::AddLives(const Keep& keep, const std::function<bool(ValueId)>& is_used,
                             std::vector<PlanBuffer>& buffers) {
  for (size_t r = 0; r < model_.regions.size(); ++r) {
    const ControlRegion& region = model_.regions[r];
    const auto first = static_cast<int>(ranges_[r].first);
    const int last = std::max(first, static_cast<int>(ranges_[r].end) - 1);
    const auto whole = [&](ValueId value) {
      if (value >= 0) keep(value, first, last);
    };
    const auto add_turns = [&](ValueId written) {
      turns_[written] = static_cast<int>(buffers.size());
      buffers.push_back(
          {.size_bytes = 2 * AlignUp(BytesOf(written)), .first_step = first, .last_step = last});
    };
    whole(region.count_input);
    whole(region.condition);
    if (region.next_condition >= 0) add_turns(region.next_condition);
    for (const auto* slices : {&region.slices, &region.stacks}) {
      for (const ControlRegion::Slice& slice : *slices) whole(slice.whole);
    }
    for (const ControlRegion::State& state : region.states) {
      whole(state.initial);
      if (state.stack < 0) add_turns(state.output);
      // Copied behind the last step, while the state's own memory is still needed.
      if (is_used(state.result)) keep(state.result, last, last);
    }
    for (const ControlRegion::Choice& choice : region.choices) whole(choice.result);
  }
}

void ControlLayout::ExtendLives(std::vector<PlanBuffer>& buffers) const {
  // Inner loops first: what one of them extends may then be read in the one around it.
  for (size_t r = model_.regions.size(); r-- > 0;) {
    if (!model_.regions[r].is_loop) continue;
    const auto first = static_cast<int>(ranges_[r].first);
    const auto end = static_cast<int>(ranges_[r].end);
    for (PlanBuffer& buffer : buffers) {
      if (buffer.first_step < first && buffer.last_step >= first && buffer.last_step < end) {
        buffer.last_step = buffer.kept_through = end - 1;
      }
    }
  }
}

Walker ControlLayout::SliceWalker(const ControlRegion& region, const ControlRegion::Slice& slice,
                                  const Place& whole) const {
  const int64_t bytes = BytesOf(slice.part);
  Walker walker{.base = whole,
                .stride_bytes = slice.backwards ? -bytes : bytes,
                .alignment_bytes = AlignmentOf(slice.part),
                .size_bytes = static_cast<uint64_t>(bytes)};
  if (slice.backwards) walker.base.offset_bytes += (region.count - 1) * bytes;
  return walker;
}

Walker ControlLayout::TurnWalker(ValueId value, int64_t offset_bytes) const {
  const int64_t bytes = BytesOf(value);
  return {.base = {.offset_bytes = static_cast<uint64_t>(offset_bytes)},
          .stride_bytes = AlignUp(bytes),
          .period = 2,
          .alignment_bytes = kPlanAlignmentBytes,
          .size_bytes = static_cast<uint64_t>(bytes)};
}

ControlProgram ControlLayout::Program(const std::function<Place(ValueId)>& place_of,
                                      const std::function<bool(ValueId)>& is_used,
                                      const std::vector<int64_t>& offset_bytes) const {
  ControlProgram program;
  for (size_t r = 0; r < model_.regions.size(); ++r) {
    const ControlRegion& region = model_.regions[r];
    const auto add = [&](Walker walker) {
      walker.block = static_cast<uint32_t>(r);
      program.walkers.push_back(std::move(walker));
    };
    // What the next iteration reads of what this one wrote.
    const auto add_reader = [&](Walker written, ValueId initial, uint32_t alignment) {
      written.has_first = true;
      written.first = place_of(initial);
      written.lag = 1;
      written.alignment_bytes = alignment;
      add(std::move(written));
    };
    std::vector<Walker> stacks;
    for (const ControlRegion::Slice& slice : region.slices) {
      add(SliceWalker(region, slice, place_of(slice.whole)));
    }
    for (const ControlRegion::Slice& slice : region.stacks) {
      stacks.push_back(SliceWalker(region, slice, place_of(slice.whole)));
      add(stacks.back());
    }
    for (const ControlRegion::State& state : region.states) {
      Walker written;
      if (state.stack < 0) {
        written = TurnWalker(state.output, offset_bytes[turns_.at(state.output)]);
        add(written);
      } else {
        written = stacks[state.stack];
      }
      add_reader(written, state.initial, AlignmentOf(state.input));
    }
    if (region.next_condition >= 0) {
      const Walker written =
          TurnWalker(region.next_condition, offset_bytes[turns_.at(region.next_condition)]);
      add(written);
      add_reader(written, region.condition, 1);
    }
    const StepRange& range = ranges_[r];
    ControlBlock block{
        .kind = region.is_loop ? BlockKind::kLoop : BlockKind::kBranch,
        .name = region.name,
        .parent = region.parent < 0 ? kNoBlock : static_cast<uint32_t>(region.parent),
        .first_step = range.first,
        .middle_step = region.is_loop ? range.end : range.middle,
        .end_step = range.end,
        .count = region.is_loop ? static_cast<uint64_t>(region.count) : 0};
    block.has_count = region.count_input >= 0;
    if (block.has_count) {
      block.count_place = place_of(region.count_input);
      const auto is_backwards = [](const ControlRegion::Slice& slice) { return slice.backwards; };
      // All slices go the same way (control.h). Where that is down, the first row is the last
      // iteration's, whatever the count.
      if (std::any_of(region.slices.begin(), region.slices.end(), is_backwards) ||
          std::any_of(region.stacks.begin(), region.stacks.end(), is_backwards)) {
        block.kind = BlockKind::kLastIterations;
      }
    }
    block.has_condition = region.condition >= 0;
    if (region.next_condition >= 0) {
      block.condition = {Region::kWalker, static_cast<uint32_t>(condition_walker_[r]), 0};
    } else if (block.has_condition) {
      block.condition = place_of(region.condition);
    }
    for (const ControlRegion::State& state : region.states) {
      if (!is_used(state.result)) continue;
      block.results.push_back({place_of(state.input), place_of(Home(state.result)),
                               static_cast<uint64_t>(BytesOf(state.result))});
    }
    program.blocks.push_back(std::move(block));
  }
  return program;
}

}  // namespace burnish

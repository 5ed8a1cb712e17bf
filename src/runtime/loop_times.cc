#include "runtime/loop_times.h"

#include <algorithm>
#include <span>

namespace fettle::runtime {
namespace {

void Add(const exec::StepTime& time, exec::StepTime& to) {
  to.ns += time.ns;
  to.runs += time.runs;
}

}  // namespace

void LoopTimes::EndIteration() {
  const std::span<exec::StepTime> last(times_.begin() + static_cast<ptrdiff_t>(begin_),
                                       end_ - begin_);
  const std::span<exec::StepTime> now(times_.begin() + static_cast<ptrdiff_t>(end_),
                                      times_.size() - end_);
  if (now.empty()) return;
  const bool same = std::ranges::equal(now, last, [](const auto& a, const auto& b) {
    return a.step == b.step && a.numbers == b.numbers;
  });
  if (!same && (last.empty() || forms_ < kMostForms)) {
    begin_ = end_;
    end_ = times_.size();
    ++forms_;
    return;
  }
  const bool fits = now.size() == last.size();
  for (size_t i = 0; i < now.size(); ++i) Add(now[i], fits ? last[i] : last.back());
  times_.resize(end_);
}

size_t StepsRun(const std::vector<exec::StepTime>& times) {
  int64_t runs = 0;
  for (const exec::StepTime& time : times) runs += time.runs;
  return static_cast<size_t>(runs);
}

exec::StepProfile ProfileOf(const exec::StepTime& time) {
  exec::StepProfile row = *time.step;
  if (time.numbers != nullptr) time.numbers->Set(time.index, row);
  const auto runs = static_cast<double>(time.runs);
  row.form = time.form;
  row.runs = time.runs;
  row.ms = static_cast<double>(time.ns) * 1e-6;
  row.macs *= time.runs;
  row.bytes *= time.runs;
  row.work.operations *= runs;
  row.work.bytes *= runs;
  return row;
}

}  // namespace fettle::runtime

// The part of a report that reads the database row by row.
#include <map>
#include <set>

#include "model_report/plan_reasons.h"
#include "tuner/store/candidate.h"

namespace fettle::tools {
namespace {

/// Groups of one kind, in all plans.
struct KindHistory {
  int64_t count = 0;
  double first_us = 0, best_us = 0;  // 0: not measured yet
};

/// The texts of all problems that a kind's entries stand for, on the devices that run them.
void ListProblems(const planner::Kind& kind, const DeviceSet& devices, size_t id,
                  std::map<std::string, size_t>& kind_of) {
  for (const planner::Entry& entry : kind.entries) {
    const Device* const device = devices.Find(entry.kernel->device());
    if (device == nullptr || entry.is_view) continue;
    const tuner::RowKey key =
        tuner::KeyOf({entry.kernel, kind.problem(entry), entry.params}, *device);
    kind_of.emplace(key.device + "\n" + key.problem, id);
  }
}

/// What the fastest kernels of all kinds take together.
double SumMs(const std::vector<KindHistory>& kinds) {
  double us = 0;
  for (const KindHistory& kind : kinds)
    us += static_cast<double>(kind.count) * (kind.best_us > 0 ? kind.best_us : kind.first_us);
  return us * 1e-3;
}

/// The kinds that the plans' steps are of, and where rows find them.
std::vector<KindHistory> ListKinds(const std::vector<PlanReasons>& plans, const DeviceSet& devices,
                                   std::map<std::string, size_t>& kind_of) {
  std::vector<KindHistory> kinds;
  std::map<std::string, size_t> by_text;
  for (const PlanReasons& plan : plans) {
    for (const PlanReasons::Place& place : plan.places()) {
      if (place.entry < 0) continue;
      const int id = plan.catalogue().instances[static_cast<size_t>(place.instance)].kind;
      const planner::Kind& kind = plan.catalogue().kinds[static_cast<size_t>(id)];
      if (kind.entries[static_cast<size_t>(place.entry)].is_view) continue;
      const auto [at, is_new] = by_text.emplace(kind.text, kinds.size());
      if (is_new) {
        kinds.emplace_back();
        ListProblems(kind, devices, at->second, kind_of);
      }
      ++kinds[at->second].count;
    }
  }
  return kinds;
}

struct Evaluation {
  size_t kind;
  double us;  // 0: it gave no time
};

}  // namespace

Result<Json> TuningHistory(const std::vector<PlanReasons>& plans, const DeviceSet& devices,
                           tuner::Database& database) {
  std::map<std::string, size_t> kind_of;
  std::vector<KindHistory> kinds = ListKinds(plans, devices, kind_of);
  std::vector<Evaluation> evaluations;
  RETURN_IF_ERROR(database.ForEachRow([&](const tuner::RowRecord& record) {
    const auto found = kind_of.find(record.key.device + "\n" + record.key.problem);
    if (found == kind_of.end()) return OkStatus();
    const bool has_time = record.row.status == tuner::Row::Status::kOk;
    evaluations.push_back({found->second, has_time ? record.row.median_us : 0});
    KindHistory& kind = kinds[found->second];
    if (has_time && kind.first_us <= 0) kind.first_us = record.row.median_us;
    return OkStatus();
  }));
  if (evaluations.empty()) return Json(nullptr);
  Json points = Json::array();
  double last_ms = 0;
  for (size_t i = 0; i < evaluations.size(); ++i) {
    KindHistory& kind = kinds[evaluations[i].kind];
    const double us = evaluations[i].us;
    if (us > 0 && (kind.best_us <= 0 || us < kind.best_us)) kind.best_us = us;
    const double ms = SumMs(kinds);
    if (i > 0 && i + 1 < evaluations.size() && ms >= last_ms) continue;
    points.push_back({{"evaluations", i + 1}, {"ms", ms}});
    last_ms = ms;
  }
  int64_t unmeasured = 0;
  for (const KindHistory& kind : kinds) unmeasured += kind.first_us > 0 ? 0 : 1;
  return Json{{"rows", evaluations.size()},
              {"operators", kinds.size()},
              {"unmeasured", unmeasured},
              {"points", std::move(points)}};
}

}  // namespace fettle::tools

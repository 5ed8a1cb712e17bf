#include "tuner/search/remembered_search.h"

#include <chrono>

namespace fettle::tuner {
namespace {

std::string DecisionKey(const RowKey& key) { return "best " + key.kernel + " for " + key.problem; }

int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// "name=value,..." as SearchSpace::Print writes it; none where it is of another space.
std::optional<Point> ParsePoint(const SearchSpace& space, const std::string& text) {
  Point point(space.parameters().size(), 0);
  for (size_t i = 0; i < point.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    bool found = false;
    for (size_t v = 0; v < parameter.values.size() && !found; ++v) {
      const std::string pair = parameter.name + "=" + PrintValue(parameter.values[v]);
      found = ("," + text + ",").find("," + pair + ",") != std::string::npos;
      if (found) point[i] = static_cast<int>(v);
    }
    if (!found) return std::nullopt;
  }
  return point;
}

}  // namespace

Result<RememberedSearch> RememberedSearch::Create(SearchSpace space, SearchOptions options,
                                                  std::shared_ptr<Store> store, RowKey key) {
  const auto remembered = store->FindDecision(DecisionKey(key));
  if (remembered.ok())
    if (std::optional<Point> best = ParsePoint(space, *remembered)) options.seeds.push_back(*best);
  ASSIGN_OR_RETURN(auto search, Search::Create(std::move(space), std::move(options)));
  return RememberedSearch(std::move(search), std::move(store), std::move(key));
}

RowKey RememberedSearch::KeyOf(const Point& point) const {
  RowKey key = key_;
  key.params = search_->history().space().Print(point);
  return key;
}

std::optional<Point> RememberedSearch::Ask() {
  if (asked_) return asked_;
  while (std::optional<Point> point = search_->Ask()) {
    const RowKey key = KeyOf(*point);
    const auto row = store_->Find(key);
    if (!row.ok() || row->prior || row->status == Row::Status::kStopped) {
      store_->BeginFlight(key);
      asked_ = point;
      return point;
    }
    ++reused_;
    search_->Tell(row->status == Row::Status::kOk ? std::optional(row->median_us * 1e-3)
                                                  : std::nullopt);
  }
  RememberBest();
  return std::nullopt;
}

void RememberedSearch::Tell(std::optional<double> ms, Row::Status status,
                            const std::string& reason) {
  FETTLE_CHECK(asked_.has_value(), "Tell without Ask");
  search_->Tell(ms);
  const Evaluation& told = search_->history().evaluations().back();
  Row row;
  row.status = told.ms ? Row::Status::kOk : status;
  row.median_us = row.low_us = told.ms.value_or(0) * 1e3;
  row.samples = told.ms ? 1 : 0;
  row.reason = told.ms ? "" : reason;
  row.unix_seconds = UnixSeconds();
  const RowKey key = KeyOf(*asked_);
  store_->Put(key, row);
  store_->EndFlight(key);
  asked_.reset();
  if (search_->best() == &told) RememberBest();
}

void RememberedSearch::RememberBest() {
  if (search_->best())
    store_->PutDecision(DecisionKey(key_),
                        search_->history().space().Print(search_->best()->point));
}

}  // namespace fettle::tuner

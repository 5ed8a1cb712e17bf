// A search that asks the database before it asks for a measurement.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tuner/search/search.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// The search's own configurations as rows of a store: what is there under exactly this key is
/// taken as measured, what is measured is put there, and the best goes in as a decision, from which
/// later searches of the same name start, on whatever device and build. Belongs to one thread.
class RememberedSearch {
 public:
  /// `key` names all but the parameters. `options.seeds` come before what the store remembers.
  static Result<RememberedSearch> Create(SearchSpace space, SearchOptions options,
                                         std::shared_ptr<Store> store, RowKey key);

  /// As Search::Ask, but for configurations that the store has.
  std::optional<Point> Ask();
  /// As Search::Tell; where there is no time, `reason` says why and `status` what it was.
  void Tell(std::optional<double> ms, Row::Status status = Row::Status::kFailed,
            const std::string& reason = "");

  const Search& search() const { return *search_; }
  /// Evaluations that the store answered.
  int64_t reused() const { return reused_; }

 private:
  RememberedSearch(std::unique_ptr<Search> search, std::shared_ptr<Store> store, RowKey key)
      : search_(std::move(search)), store_(std::move(store)), key_(std::move(key)) {}
  RowKey KeyOf(const Point& point) const;
  void RememberBest();

  std::unique_ptr<Search> search_;
  std::shared_ptr<Store> store_;
  RowKey key_;
  std::optional<Point> asked_;  // in flight
  int64_t reused_ = 0;
};

}  // namespace fettle::tuner

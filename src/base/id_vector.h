// Tables indexed by ids: values and nodes of a graph, and facts that passes keep about each.
#pragma once

#include <concepts>
#include <vector>

#include "base/check.h"

namespace fettle {

/// The ids 0 .. count - 1, for range-for.
template <typename Id>
class IdRange {
 public:
  class Iterator {
   public:
    explicit Iterator(Id id) : id_(id) {}
    Id operator*() const { return id_; }
    Iterator& operator++() {
      ++id_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    Id id_;
  };

  explicit IdRange(Id count) : count_(count) {}
  Iterator begin() const { return Iterator(0); }
  Iterator end() const { return Iterator(count_); }

 private:
  Id count_;
};

/// A vector with one element per id. Ids are signed, since -1 is the id of nothing; an id that has
/// no element aborts in builds with assertions.
template <typename Id, typename T>
class IdVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;

  template <std::integral I>
  typename Base::reference operator[](I id) {
    return Base::operator[](Checked(id));
  }
  template <std::integral I>
  typename Base::const_reference operator[](I id) const {
    return Base::operator[](Checked(id));
  }
  /// All ids that have an element now; ids added during the walk are left out.
  IdRange<Id> ids() const { return IdRange<Id>(static_cast<Id>(this->size())); }

 private:
  template <std::integral I>
  size_t Checked(I id) const {
    const auto index = static_cast<size_t>(id);
#ifndef NDEBUG
    FETTLE_CHECK(index < this->size(), "an id without an element");
#endif
    return index;
  }
};

}  // namespace fettle

// For tests of what a new layout needs: one more row of the layout table.
#pragma once

#include "tensor/layout.h"

namespace fettle {

/// The table's last row for as long as it lives; nobody else may use the table when it comes and
/// goes.
class ScopedLayout {
 public:
  explicit ScopedLayout(NamedLayout row);
  ~ScopedLayout();
  ScopedLayout(const ScopedLayout&) = delete;
  ScopedLayout& operator=(const ScopedLayout&) = delete;
};

}  // namespace fettle

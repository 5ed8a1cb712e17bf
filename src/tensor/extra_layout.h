// One more row of the layout table, for tests.
#pragma once

#include "tensor/layout.h"

namespace fettle {

/// A row of LayoutTable() while it lives; the last one made goes first. Not while other threads
/// run.
class ExtraLayout {
 public:
  explicit ExtraLayout(NamedLayout row);
  ~ExtraLayout();
  ExtraLayout(const ExtraLayout&) = delete;
  ExtraLayout& operator=(const ExtraLayout&) = delete;
};

}  // namespace fettle

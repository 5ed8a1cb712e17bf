// A convolution, the ways to compute it, and rows of them.
#pragma once

#include <memory>
#include <string_view>

#include "planner/catalogue.h"
#include "tests/tuner/groups.h"
#include "tests/tuner/known_machine.h"
#include "tuner/cost/learned_costs.h"

namespace fettle::tuner {

inline constexpr std::string_view kConvolution =
    "input %x: f32[1x16x32x32]\nconst %w: f32[24x16x3x3]\nconst %b: f32[24]\n"
    "%y: f32[1x24x32x32] = Conv(%x, %w, %b) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
    "%z: f32[1x24x32x32] = Relu(%y)\noutput %z\n";

inline planner::Catalogue CatalogueOf(const ir::Graph& graph) {
  return planner::ListCatalogue(graph, TestDevice(), {.threads = 2}).value();
}

/// The key of the first entry of the convolution on this device.
inline RowKey SomeKey() {
  const auto graph = ParseGroup(kConvolution);
  const planner::Catalogue catalogue = CatalogueOf(*graph);
  const std::shared_ptr<Store> store = StoreWithCeilings(TestDevice());
  const planner::Kind& kind = catalogue.kinds[0];
  return LearnedCosts(TestDevice(), *store)
      .KernelKey(kind, kind.entries[0], kind.entries[0].params);
}

}  // namespace fettle::tuner

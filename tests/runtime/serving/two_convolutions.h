// A small model whose inputs have any height.
#pragma once

#include <memory>

#include "ops/op.h"
#include "runtime/model.h"

namespace fettle::runtime {

/// A convolution with Relu and another one: x [1, 8, any, 16] to c [1, 4, any, 16].
inline std::shared_ptr<const Model> TwoConvolutions() {
  return Model::FromGraph(ops::Parse(R"(input %x: f32[1x8x?x16]
const %w: f32[16x8x3x3]
const %v: f32[4x16x1x1]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
%b = Relu(%a)
%c = Conv(%b, %v, _)
output %c
)")
                              .value(),
                          "small")
      .value();
}

}  // namespace fettle::runtime

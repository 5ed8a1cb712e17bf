// A product's algorithm as a kernel: what a row of the table matches.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/family.h"
#include "kernels/match/product.h"
#include "kernels/opencl/gemm/algorithm.h"
#include "kernels/opencl/matmul/forms.h"
#include "kernels/opencl/matmul/prepare.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {

/// What the kernels read of a group; the shape says f32.
struct ProductFacts {
  Product product;
  GemmShape shape;

  GemmShape ShapeIn(const Problem& problem) const {
    GemmShape stored = shape;
    stored.storage = problem.states.outputs[0].storage;
    return stored;
  }
};

/// The functions of a Family that follow from an algorithm.
template <const GemmAlgorithm& kAlgorithm, Arithmetic arithmetic>
struct ProductFunctions {
  static Result<ProductFacts> Read(const ir::Graph& group, const Device& device) {
    ProductFacts facts;
    ASSIGN_OR_RETURN(facts.product, ReadProduct(group));
    ASSIGN_OR_RETURN(facts.shape, ReadShape(group, facts.product, DType::kF32));
    RETURN_IF_ERROR(kAlgorithm.applies(facts.shape, AsOpenCl(device).facts()));
    return facts;
  }
  static Result<std::vector<StateAssignment>> States(const ir::Graph& group,
                                                     const ProductFacts& facts,
                                                     const Device& device) {
    auto states = StatesFor(kAlgorithm, group, facts.product, device);
    if (arithmetic != Arithmetic::kF16) return states;
    return HalfStates(group, std::move(states), device);
  }
  static Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                         const ProductFacts& facts,
                                                         const Params& params,
                                                         const Device& device) {
    const OpenClFacts& device_facts = AsOpenCl(device).facts();
    const GemmShape shape = facts.ShapeIn(problem);
    const GemmForms forms = FormsOf(kAlgorithm, problem, facts.product, device_facts);
    return PrepareProduct(problem, device, facts.product, shape,
                          kAlgorithm.setup(shape, forms, params, device_facts), arithmetic);
  }
  static ParamSpace Space(const Problem& problem, const ProductFacts& facts, const Device& device) {
    const OpenClFacts& device_facts = AsOpenCl(device).facts();
    const GemmShape shape = facts.ShapeIn(problem);
    return {kAlgorithm.tunables(), kAlgorithm.defaults(shape, device_facts),
            [shape, &device_facts](const Params& params) {
              return kAlgorithm.valid(shape, params, device_facts);
            }};
  }
};

using ProductTaste = int (*)(const ProductFacts& facts, const Device& device);

/// KernelDesc::parameters of an algorithm.
template <const GemmAlgorithm& kAlgorithm>
std::span<const ParamInfo> ProductParameters() {
  return kAlgorithm.parameters();
}

template <const GemmAlgorithm& kAlgorithm, ProductTaste taste,
          Arithmetic arithmetic = Arithmetic::kF32>
inline constexpr Family<ProductFacts> kProductFamily{
    .read = ProductFunctions<kAlgorithm, arithmetic>::Read,
    .states = ProductFunctions<kAlgorithm, arithmetic>::States,
    .prepare = ProductFunctions<kAlgorithm, arithmetic>::Prepare,
    .params = ProductFunctions<kAlgorithm, arithmetic>::Space,
    .taste = taste};

}  // namespace fettle::kernels

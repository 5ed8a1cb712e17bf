// Products of rows by constant weights in few bits: one kernel for every form of them.
#pragma once

#include <memory>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/product/panel_source.h"
#include "kernels/match/product.h"

namespace fettle::kernels {

/// A kernel for `product`, which has one list of rows of f32, and B as `source` has it; `epilogue`
/// finishes the results. The addend, where it is a constant row, is the source's bias. Sums of more
/// than direct_rows() rows are made slice by slice: a row's result does not depend on threads.
std::unique_ptr<PreparedKernel> MakePanelProduct(const Problem& problem, const Product& product,
                                                 std::unique_ptr<const PanelSource> source,
                                                 Epilogue epilogue, const CpuDevice& device);

/// The least work of such a product whose weights take `weight_bytes`.
Work WorkOfPanels(const Product& product, double weight_bytes);

}  // namespace fettle::kernels

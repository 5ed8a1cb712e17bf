// The table of `fettle gemm`.
#pragma once

#include <string>
#include <vector>

#include "jobs/product_table.h"

namespace fettle::tools {

/// A product that is faster than its ceiling shows that this is none: shares are then of the
/// fastest product. Returns what to say of that.
std::vector<std::string> RaisePeaks(std::vector<ProductRow>& rows);

/// What there is to say of single lines: why there is no time, and whether any result is wrong.
std::string RemarksOn(const std::vector<ProductRow>& rows);
/// Prints rows as text or JSON, as the job's options say.
void PrintProducts(const GemmJob& job, const std::vector<ProductRow>& rows,
                   const std::vector<std::string>& warnings);

}  // namespace fettle::tools

// The table of `fettle gemm`.
#pragma once

#include <string>
#include <vector>

#include "jobs/product_table.h"

namespace fettle::tools {

/// What there is to say of single lines: why there is no time, and whether any result is wrong.
std::string RemarksOn(const std::vector<ProductRow>& rows);
/// Prints rows as text or JSON, as the job's options say.
void PrintProducts(const GemmJob& job, const std::vector<ProductRow>& rows,
                   const std::vector<std::string>& warnings);

}  // namespace fettle::tools

// The facts of an OpenCL device as values with names, and a device of such facts that is not here.
#pragma once

#include "kernels/backend.h"

namespace fettle::kernels {

/// Backend::facts and Backend::on_paper.
Facts FactsOfOpenCl(const Device& device);
Result<std::shared_ptr<const Device>> OpenClOnPaper(const Facts& facts);

}  // namespace fettle::kernels

// A page that shows what a job did.
#pragma once

#include <string>

#include "job/job.h"

namespace fettle::enhance {

/// HTML that needs no other file: the plan with its reasons, the steps' time and gain, and for each
/// scene its speed, what was measured in a frame before and after, and both frames under a slider.
std::string ReportPage(const Plan& plan, const JobResult& result);

}  // namespace fettle::enhance

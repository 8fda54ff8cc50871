// The bases of the four kinds.
#include "headwright/attention.h"
#include "headwright/feed_forward.h"
#include "headwright/norm.h"
#include "headwright/position.h"

namespace headwright {
FeedForward::~FeedForward() = default;
}

// Packets on a socket between a registry and its probe.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headwright::registry {

inline constexpr std::string_view kReady = "ready";                    // the probe's first packet
inline constexpr std::size_t kLargestPacket = std::size_t{64} * 1024;  // fits into a socket's buffer

/// False where the other side is gone.
bool send_packet(int socket, std::string_view packet);

/// Waits for a packet; nothing where the other side is gone.
std::optional<std::string> receive_packet(int socket);

}  // namespace headwright::registry

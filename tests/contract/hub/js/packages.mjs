// The packages from the registry. They are installed outside the tree that is tracked, in
// .tools/contract-js, or where TIDEGATE_CONTRACT_JS says; hence not by plain imports.

import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const installed =
  process.env.TIDEGATE_CONTRACT_JS || path.resolve(here, "../../../../.tools/contract-js");
const require = createRequire(path.join(installed, "package.json"));

export const { EventHubConsumerClient, EventHubProducerClient, earliestEventPosition, latestEventPosition } =
  require("@azure/event-hubs");
export const { BlobCheckpointStore } = require("@azure/eventhubs-checkpointstore-blob");
export const { ContainerClient } = require("@azure/storage-blob");
export const WebSocket = require("ws");

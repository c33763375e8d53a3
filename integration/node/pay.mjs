// Pays through the official Stripe SDK for Node at a fake Stripe, whose URL is the
// argument, and tells what happened as JSON:
//
//   idempact fake stripe & node pay.mjs http://127.0.0.1:12111

import Stripe from "stripe";

const fake = new URL(process.argv[2]);
const stripe = new Stripe("sk_test_1", {
  host: fake.hostname, port: fake.port, protocol: "http", maxNetworkRetries: 2,
});

// The fake's control API.
async function control(method, what, body) {
  const answer = await fetch(new URL("/_fake/" + what, fake), { method, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} /_fake/${what}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function pay(amount, key) {
  try {
    const intent = await stripe.paymentIntents.create(
      { amount, currency: "usd", confirm: true, payment_method: "pm_card_visa" },
      key ? { idempotencyKey: key } : undefined,
    );
    const replayed = intent.lastResponse.headers["idempotent-replayed"] === "true";
    return { id: intent.id, status: intent.status, replayed };
  } catch (e) {
    return { error: e.type, answer: e.statusCode };
  }
}

const seen = {};

// Nothing goes wrong.
seen.plain = await pay(1000, "order-1000");

// The answer is lost. The SDK sends again under the same key, and the fake replays.
await control("POST", "faults", { faults: ["LoseReply"] });
seen.lost = await pay(2500, "order-1001");

// Without a key of ours the SDK makes one up for the call, which protects its own
// retries alone.
await control("POST", "faults", { faults: ["LoseReply"] });
seen.ownKey = await pay(3000);

// The answer arrives in part: the SDK reports an error, and the money has moved.
await control("POST", "faults", { faults: ["CutBody(20)"] });
seen.cut = await pay(4000, "order-1002");

// Other parameters under a used key.
seen.reused = await pay(9999, "order-1001");

// A day later the key is forgotten, which the SDK cannot know: the same call with the
// same key pays again.
await control("POST", "clock", { advance: "25h" });
seen.late = await pay(2500, "order-1001");

seen.effects = await control("GET", "effects");
seen.requests = await control("GET", "requests");
console.log(JSON.stringify(seen, null, 2));

// The second half of the page's script: a form for every operation of /openapi.json.

// Backquoted words become code, lines that begin with "- " a list.
function prose(text) {
  const box = make("div", { className: "quiet" });
  let list = null;
  for (const line of text.split("\n").filter(Boolean)) {
    const isItem = line.startsWith("- ");
    const pieces = (isItem ? line.slice(2) : line).split("`")
      .map((piece, index) => (index % 2 ? make("code", {}, piece) : piece));
    if (!isItem) { list = null; box.append(make("p", {}, ...pieces)); continue; }
    if (!list) { list = make("ul"); box.append(list); }
    list.append(make("li", {}, ...pieces));
  }
  return box;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function asCurl(method, path, body) {
  const parts = ["curl"];
  if (method !== "GET") parts.push("-X", method);
  parts.push(location.origin + path);
  if (body !== undefined) parts.push("-H", quoted("Content-Type: application/json"), "-d", quoted(body));
  return parts.join(" ");
}

function bodyFields(operation) {
  const content = operation.requestBody.content["application/json"];
  const examples = Object.entries(content.examples ?? {});
  const area = make("textarea", { name: "body", spellcheck: false });
  const show = (name) => { area.value = JSON.stringify(content.examples[name].value, null, 2); };
  const labels = [make("label", {}, make("span", {}, "Body (JSON)"), area)];
  if (examples.length > 0) show(examples[0][0]);
  if (examples.length > 1) {
    const choice = make("select", { onchange: () => show(choice.value) },
      ...examples.map(([name]) => make("option", { value: name }, name)));
    labels.unshift(make("label", {}, make("span", {}, "Example"), choice));
  }
  return { area, labels };
}

function makeOperation(method, path, operation) {
  const fields = (operation.parameters ?? []).map((parameter) => {
    const input = make("input", { name: parameter.name, required: true, value: parameter.example ?? "", autocomplete: "off" });
    if (parameter.name === "hub") input.setAttribute("list", "hub-names");
    return { input, label: make("label", {}, make("span", {}, `${parameter.name}: ${parameter.description}`), input) };
  });
  const body = operation.requestBody ? bodyFields(operation) : null;
  const output = make("pre", { hidden: true, tabIndex: 0, ariaLabel: "Answer" });
  const send = async (event) => {
    event.preventDefault();
    let target = path;
    for (const { input } of fields) target = target.replace(`{${input.name}}`, encodeURIComponent(input.value));
    output.hidden = false;
    output.textContent = "…";
    try {
      const answer = await ask(method, target, body?.area.value);
      let text = answer.text;
      try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: shown as it is */ }
      output.textContent = `${answer.status} ${answer.phrase}\n${text}\n\n${asCurl(method, target, body?.area.value)}`;
    } catch (error) {
      output.textContent = `No answer: ${error.message}`;
    }
    await running;
    await refresh();
  };
  const button = make("button", { className: "send" }, `Send ${method}`);
  const form = make("form", { onsubmit: send }, ...fields.map(({ label }) => label), ...(body?.labels ?? []), button);
  return make("details", { id: `op-${operation.operationId}` },
    make("summary", {}, make("span", { className: "method" }, method), ` ${operation.summary} `, make("code", { className: "quiet" }, path)),
    make("div", { className: "inside" }, ...(operation.description ? [prose(operation.description)] : []), form, output));
}

async function showOperations() {
  const described = await read("/openapi.json");
  const operations = Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })));
  for (const { name } of described.tags) {
    byId("operations").append(make("h3", {}, name),
      ...operations.filter(({ operation }) => operation.tags[0] === name)
        .map(({ method, path, operation }) => makeOperation(method, path, operation)));
  }
}

byId("connections").append(connections.node);
byId("faults").append(faults.node);
showOperations().catch((error) => { byId("operations").textContent = `The operations could not be read: ${error.message}`; });
keepRefreshing();

// The interview, one screen at a time, with what can be said so far. Without this it is one long form, which does the same.
export {};
const form = document.querySelector<HTMLFormElement>("form#interview");
if (form) guide(form);

function guide(form: HTMLFormElement): void {
  const steps = [...form.querySelectorAll<HTMLElement>(".step")];
  const [back, next] = [...form.querySelectorAll<HTMLButtonElement>("[data-go]")] as [
    HTMLButtonElement,
    HTMLButtonElement,
  ];
  const submit = form.querySelector<HTMLButtonElement>("[type=submit]")!;
  const said = form.querySelector<HTMLElement>(".so-far")!;
  let at = Math.max(
    0,
    steps.findIndex((step) => step.querySelector(".complaint")),
  );
  form.noValidate = true; // each screen is checked when it is left, because a browser cannot point into a hidden one

  const show = (): void => {
    steps.forEach((step, i) => (step.hidden = i !== at));
    back.hidden = at === 0;
    next.hidden = at === steps.length - 1;
    submit.hidden = at < steps.length - 1;
  };
  const turn = (by: number): void => {
    at += by;
    show();
    const heading = steps[at]!.querySelector<HTMLElement>("h2")!;
    heading.tabIndex = -1;
    heading.focus();
  };

  const chosen = (name: string): string[] => new FormData(form).getAll(name).map(String);
  const one = (name: string): HTMLElement => form.querySelector<HTMLElement>(`[data-question="${name}"]`)!;
  /** Questions that do not matter are not asked. */
  const tidy = (): void => {
    one("groups").hidden = !chosen("ask").some((ask) => ["histogram", "nested", "top", "table"].includes(ask));
    one("same").hidden = chosen("often")[0] === "once";
  };

  /** Whether everything on a screen is answered; if not, the first gap says so. */
  const complete = (step: HTMLElement): boolean => {
    for (const asked of step.querySelectorAll<HTMLElement>(".asked:not([hidden])")) {
      const inputs = [...asked.querySelectorAll<HTMLInputElement>("input")];
      const first = inputs[0]!;
      const missing = first.type === "checkbox" ? !inputs.some((input) => input.checked) : !first.checkValidity();
      first.setCustomValidity(missing && first.type === "checkbox" ? "Choose at least one." : "");
      if (missing) return first.reportValidity();
    }
    return true;
  };

  let asking: AbortController | undefined;
  const tell = async (): Promise<void> => {
    asking?.abort();
    asking = new AbortController();
    const given = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    try {
      const answer = await fetch(`/guide/so-far?${given}`, { signal: asking.signal });
      if (!answer.ok) return;
      const { verdict, why } = (await answer.json()) as { verdict: string; why: string };
      said.className = `so-far ${verdict.replace(" ", "-") || "going"}`;
      said.textContent = why && (verdict ? `So far it looks like ${verdict}. ${why}` : `So far: ${why}`);
    } catch {
      // another answer was given in the meantime, or there is no line: the form works without it
    }
  };

  form.addEventListener("change", (event) => {
    for (const input of one("ask").querySelectorAll("input")) input.setCustomValidity("");
    (event.target as HTMLElement).closest(".asked")?.querySelector(".complaint")?.remove();
    tidy();
    void tell();
  });
  back.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => complete(steps[at]!) && turn(1));
  form.addEventListener("submit", (event) => {
    const gap = steps.findIndex((step) =>
      [...step.querySelectorAll<HTMLInputElement>("input")].some((input) => !input.checkValidity()),
    );
    if (complete(steps[at]!) && gap < 0) return;
    event.preventDefault();
    if (gap >= 0 && gap !== at) turn(gap - at);
    complete(steps[at]!);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || at === steps.length - 1 || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault(); // on to the next screen, not to an unfinished result
    next.click();
  });
  tidy();
  show();
}

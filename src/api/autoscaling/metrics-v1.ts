import { isObject } from "#lib/data/json-object.ts";
import { type MetricSpec, type MetricStatus } from "./metrics.ts";

/**
 * The metrics of autoscaling/v1 are JSON in annotations, with other names than the fields of v2. What is read here was
 * written by a client: it only gets its new names, and is then decoded like any other v2 object.
 */
type Loose = Readonly<Record<string, unknown>>;

/** Converts an object, and leaves what is none to the decoder, which refuses it. */
const within = (value: unknown, convert: (value: Loose) => Loose): unknown =>
  isObject(value) ? convert(value) : value;

/** What v1 writes for a quantity that is absent in v2. */
const zero = "0";
const isZero = (value: unknown): boolean => value === undefined || value === null || value === zero || value === 0;

export const metricToV2 = (raw: unknown): unknown =>
  within(raw, ({ type, object, pods, resource, containerResource, external }) => ({
    type,
    object: within(object, objectToV2),
    pods: within(pods, ({ metricName, selector, targetAverageValue }) => ({
      metric: { name: metricName, selector },
      target: { type: "AverageValue", averageValue: targetAverageValue ?? zero },
    })),
    resource: within(resource, useToV2),
    containerResource: within(containerResource, (use) => ({ ...useToV2(use), container: use.container })),
    external: within(external, ({ metricName, metricSelector, targetValue, targetAverageValue }) => ({
      metric: { name: metricName, selector: metricSelector },
      target: {
        type: isAbsent(targetValue) ? "AverageValue" : "Value",
        value: targetValue,
        averageValue: targetAverageValue,
      },
    })),
  }));

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function objectToV2({ target, metricName, selector, targetValue, averageValue }: Loose): Loose {
  const isAverage = !isAbsent(averageValue);
  const value = isAverage && isZero(targetValue) ? undefined : (targetValue ?? zero);
  return {
    describedObject: target,
    metric: { name: metricName, selector },
    target: { type: isAverage ? "AverageValue" : "Value", value, averageValue },
  };
}

function useToV2({
  name,
  targetAverageUtilization: averageUtilization,
  targetAverageValue: averageValue,
}: Loose): Loose {
  const type = isAbsent(averageUtilization) ? "AverageValue" : "Utilization";
  return { name, target: { type, averageUtilization, averageValue } };
}

export const metricToV1 = ({ type, object, pods, resource, containerResource, external }: MetricSpec): Loose => ({
  type,
  object: object && {
    target: inOrderOfV1(object.describedObject),
    metricName: object.metric.name,
    targetValue: object.target.value ?? zero,
    selector: object.metric.selector,
    averageValue: object.target.averageValue,
  },
  pods: pods && {
    metricName: pods.metric.name,
    targetAverageValue: pods.target.averageValue ?? zero,
    selector: pods.metric.selector,
  },
  resource: resource && useToV1(resource),
  containerResource: containerResource && {
    ...useToV1(containerResource),
    container: containerResource.container,
  },
  external: external && {
    metricName: external.metric.name,
    metricSelector: external.metric.selector,
    targetValue: external.target.value,
    targetAverageValue: external.target.averageValue,
  },
});

/** Clients compare the text of the annotation. */
const inOrderOfV1 = ({ kind, name, apiVersion }: NonNullable<MetricSpec["object"]>["describedObject"]): Loose => ({
  kind,
  name,
  apiVersion,
});

const useToV1 = ({ name, target }: NonNullable<MetricSpec["resource"]>): Loose => ({
  name,
  targetAverageUtilization: target.averageUtilization,
  targetAverageValue: target.averageValue,
});

export const metricStatusToV2 = (raw: unknown): unknown =>
  within(raw, ({ type, object, pods, resource, containerResource, external }) => ({
    type,
    object: within(object, ({ target, metricName, selector, currentValue, averageValue }) => ({
      describedObject: target,
      metric: { name: metricName, selector },
      current: { value: currentValue ?? zero, averageValue },
    })),
    pods: within(pods, ({ metricName, selector, currentAverageValue }) => ({
      metric: { name: metricName, selector },
      current: { averageValue: currentAverageValue ?? zero },
    })),
    resource: within(resource, currentUseToV2),
    containerResource: within(containerResource, (use) => ({ ...currentUseToV2(use), container: use.container })),
    external: within(external, ({ metricName, metricSelector, currentValue, currentAverageValue }) => ({
      metric: { name: metricName, selector: metricSelector },
      current: { value: currentValue ?? zero, averageValue: currentAverageValue },
    })),
  }));

const currentUseToV2 = ({ name, currentAverageUtilization, currentAverageValue }: Loose): Loose => ({
  name,
  current: { averageUtilization: currentAverageUtilization, averageValue: currentAverageValue ?? zero },
});

export const metricStatusToV1 = (status: MetricStatus): Loose => {
  const { type, object, pods, resource, containerResource, external } = status;
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? zero,
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? zero,
      selector: pods.metric.selector,
    },
    resource: resource && currentUseToV1(resource),
    containerResource: containerResource && {
      ...currentUseToV1(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? zero,
      currentAverageValue: external.current.averageValue,
    },
  };
};

const currentUseToV1 = ({ name, current }: NonNullable<MetricStatus["resource"]>): Loose => ({
  name,
  currentAverageUtilization: current.averageUtilization,
  currentAverageValue: current.averageValue ?? zero,
});
